"""A reader for DLIO that keeps the bytes of a file and decodes nothing.

That is what the readers of MLPerf Storage 3.0 do; the one of DLIO's own decodes by Pillow. With it
the reference loader does the same work as `fdconvert.dlio.StoredImages`.
"""

from dlio_benchmark.reader.image_reader import ImageReader


class StoredFiles(ImageReader):
    def open(self, filename):
        with open(filename, "rb") as file:
            return file.read()

    def get_sample(self, filename, sample_index):
        self.image_size = len(self.open_file_map[filename])
