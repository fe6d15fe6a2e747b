import nvidia.dali as dali
import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali import pipeline_def


def main():
    args = arguments()
    if args.probe:
        probed(dali.__version__)
        return

    def read():
        files, labels = fn.readers.file(file_root=args.data, random_shuffle=True, name="reader")
        images = fn.decoders.image(files, device="cpu", output_type=types.RGB)
        return fn.resize(images, size=(args.size, args.size), antialias=True), labels

    def normalise(images):
        return fn.crop_mirror_normalize(
            images,
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
        )

    if args.autoaugment:
        from nvidia.dali.auto_aug import auto_augment

        @pipeline_def(enable_conditionals=True)
        def pipeline():
            images, labels = read()
            return normalise(auto_augment.auto_augment_image_net(images)), labels
    else:

        @pipeline_def
        def pipeline():
            images, labels = read()
            return normalise(images), labels

    built = pipeline(batch_size=args.batch, num_threads=args.workers, device_id=None)
    built.build()

    def epoch():
        left = args.images
        while left > 0:
            images, _ = built.run()
            yield min(left, len(images))
            left -= len(images)

    measure(epoch)


main()
