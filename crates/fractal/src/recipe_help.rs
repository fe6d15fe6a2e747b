//! Help texts for the keys of recipes.

/// A key of recipes, for the help text.
pub struct RecipeKey {
    /// Name in a recipe.
    pub name: &'static str,
    /// Effect of the key, with unit and default.
    pub about: &'static str,
}

/// All keys, in the order of the help text.
pub const RECIPE_KEYS: &[RecipeKey] = &[
    RecipeKey { name: "classes", about: "how many categories [default: 1000; all of a folder]" },
    RecipeKey {
        name: "instances",
        about: "images of each class: 25 rows of weights times flips times patches \
                [fractaldb: 1000, ofdb and 1p-frac: 1; of space: rows times views]",
    },
    RecipeKey {
        name: "size",
        about: "pixels of a side [fractaldb: 362, rt-fractaldb and svd: 256, of space: 224, \
                else 512]",
    },
    RecipeKey {
        name: "points",
        about: "points of an image [fractaldb: 200000, of space: 10000, \
                else 100000]",
    },
    RecipeKey {
        name: "draw",
        about: "point_gray, point_color, patch_gray or patch_color [patch_gray]",
    },
    RecipeKey {
        name: "weight",
        about: "step of the 25 rows of weights, or none [fractaldb: 0.4, else none]; of \
                space: 0.1 to 0.6 for 25 to 145 rows, or none [0.6]",
    },
    RecipeKey {
        name: "flips",
        about: "4 for the original's four turns of each image, or 1 [fractaldb: 4, else 1]",
    },
    RecipeKey {
        name: "sampler",
        about: "fractaldb-v1 (the original's bits) or lanes64-v1 (much faster) \
                [rt-fractaldb and svd: lanes64-v1, else fractaldb-v1]; of space: mv-fractaldb-v1",
    },
    RecipeKey {
        name: "seed",
        about: "draws patches, with lanes64-v1 and mv-fractaldb-v1 the points, and turns of views [0]",
    },
    RecipeKey { name: "views", about: "of space: sides that an instance is seen from [12]" },
    RecipeKey {
        name: "turn",
        about: "of space: degrees that a view is turned by at most, at random \
                [ex-fractaldb: 3.14159..., else 0]",
    },
    RecipeKey {
        name: "min_fill",
        about: "share of the pixels, below which an image is drawn again with other \
                weights [lanes64-v1 with weights: 0.01, else 0: never]",
    },
    RecipeKey { name: "pad", about: "free pixels on every side [6]" },
    RecipeKey {
        name: "vary",
        about: "epoch for new instances in every epoch of a formula dataset, or none [none]",
    },
    RecipeKey { name: "category_seed", about: "draws the categories [1, which is FractalDB's]" },
    RecipeKey {
        name: "rate",
        about: "fractaldb, ofdb: share that a category fills at least [0.2]",
    },
    RecipeKey {
        name: "variance",
        about: "mv-fractaldb, ex-fractaldb: least variance of a category along each axis [0.05]",
    },
    RecipeKey { name: "sigma", about: "1p-frac: sum of the singular values of the base [3.5]" },
    RecipeKey {
        name: "delta",
        about: "1p-frac: the most that a class changes the base by, relatively [0.1]",
    },
    RecipeKey {
        name: "path",
        about: "csv: folder of NNNNN.csv or csv0/NNNNN.csv, or one file; seven columns as \
                FractalDB's, or thirteen as MV-FractalDB's",
    },
];
