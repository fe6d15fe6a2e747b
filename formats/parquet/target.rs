//! A Parquet file that is written: its columns one after another, and the footer that names them.
//!
//! The library encodes every column but those of images. It copies a value twice on its way into the
//! file, which for images is most of the work of packing them; their pages, which hold what they
//! are given, are written from where the images lie. Tests hold the file against the library's.
use super::{
    layout::{IMAGE_PAGE_BYTES, MAGIC},
    sink::Sink,
    thrift::{page_header, push_varint},
};
use ::parquet::{
    basic::{Compression, Encoding, PageType},
    column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer},
    errors::{ParquetError, Result},
    file::{
        metadata::{
            ColumnChunkMetaData, FileMetaData, KeyValue, PageEncodingStats, ParquetMetaDataBuilder,
            ParquetMetaDataWriter, RowGroupMetaData, page_index::PageIndexBuilder,
        },
        page_index::offset_index::{OffsetIndexMetaData, PageLocation},
        properties::{WriterProperties, WriterPropertiesPtr},
        writer::{SerializedPageWriter, TrackedWrite},
    },
    schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor, TypePtr},
};
use bytes::Bytes;
use std::{io::Write, mem, sync::Arc};

/// The definition level of an image that is there.
const PRESENT: u8 = 2;

/// A file that is written, from its start to its end.
pub(crate) struct Target {
    out: TrackedWrite<Sink>,
    schema: SchemaDescPtr,
    properties: WriterPropertiesPtr,
    /// Columns of the row group that is written.
    columns: Vec<ColumnCloseResult>,
    groups: Vec<RowGroupMetaData>,
    /// Places of the pages of each row group and column.
    pages: Vec<Vec<Option<OffsetIndexMetaData>>>,
}

fn too_large(_: std::num::TryFromIntError) -> ParquetError {
    ParquetError::General("a number of a page or column has more bits than Parquet stores".into())
}

impl Target {
    /// Begins the file.
    pub(crate) fn new(sink: Sink, schema: TypePtr, properties: WriterProperties) -> Result<Self> {
        let mut out = TrackedWrite::new(sink);
        out.write_all(&MAGIC)?;
        Ok(Self {
            out,
            schema: Arc::new(SchemaDescriptor::new(schema)),
            properties: Arc::new(properties),
            columns: Vec::new(),
            groups: Vec::new(),
            pages: Vec::new(),
        })
    }

    /// Returns the sink; bytes that are on their way are written to it first.
    pub(crate) fn sink(&mut self) -> Result<&Sink> {
        self.out.flush()?;
        Ok(self.out.inner())
    }

    /// Writes what other readers pass over, between row groups.
    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.out.write_all(bytes)?)
    }

    fn next_column(&self) -> Result<ColumnDescPtr> {
        let all = self.schema.columns();
        let next = all.get(self.columns.len()).cloned();
        next.ok_or_else(|| ParquetError::General("the schema has fewer columns".into()))
    }

    /// Writes the next column of the row group as the library encodes it.
    pub(crate) fn column(
        &mut self,
        write: impl FnOnce(&mut ColumnWriter<'_>) -> Result<()>,
    ) -> Result<()> {
        let column = self.next_column()?;
        let pages = Box::new(SerializedPageWriter::new(&mut self.out));
        let mut writer = get_column_writer(column, Arc::clone(&self.properties), pages);
        write(&mut writer)?;
        self.columns.push(writer.close()?);
        Ok(())
    }

    /// Writes the next column of the row group, of images that are all there, and returns where the
    /// bytes of each are. A page ends with the image that reaches
    /// [`IMAGE_PAGE_BYTES`].
    pub(crate) fn images(&mut self, images: &[Bytes]) -> Result<Vec<u64>> {
        let column = self.next_column()?;
        let start = self.out.bytes_written();
        let (mut places, mut locations) = (Vec::with_capacity(images.len()), Vec::new());
        let mut rest = images;
        while !rest.is_empty() {
            let (page, behind) = rest.split_at(page_len(rest));
            let first_row = i64::try_from(images.len() - rest.len()).map_err(too_large)?;
            let offset = self.out.bytes_written();
            self.page_of_images(page, &mut places)?;
            let size = self.out.bytes_written() - offset;
            locations.push(PageLocation {
                offset: i64::try_from(offset).map_err(too_large)?,
                compressed_page_size: i32::try_from(size).map_err(too_large)?,
                first_row_index: first_row,
            });
            rest = behind;
        }
        let size = i64::try_from(self.out.bytes_written() - start).map_err(too_large)?;
        let statistics = PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: Encoding::PLAIN,
            count: i32::try_from(locations.len()).map_err(too_large)?,
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
            .set_page_encoding_stats(vec![statistics])
            .set_total_compressed_size(size)
            .set_total_uncompressed_size(size)
            .set_num_values(i64::try_from(images.len()).map_err(too_large)?)
            .set_data_page_offset(i64::try_from(start).map_err(too_large)?)
            .build()?;
        let pages = OffsetIndexMetaData {
            page_locations: locations,
            unencoded_byte_array_data_bytes: None,
        };
        self.columns.push(ColumnCloseResult {
            bytes_written: size.unsigned_abs(),
            rows_written: images.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: Some(pages),
        });
        Ok(places)
    }

    /// Writes a page: the levels, and each image behind its length.
    fn page_of_images(&mut self, images: &[Bytes], places: &mut Vec<u64>) -> Result<()> {
        let n_images = u32::try_from(images.len()).map_err(too_large)?;
        let levels = levels(n_images);
        let n_bytes: usize = images.iter().map(|image| 4 + image.len()).sum();
        let n_bytes = i32::try_from(levels.len() + n_bytes).map_err(too_large)?;
        let mut before = page_header(n_images, n_bytes.unsigned_abs());
        before.extend_from_slice(&levels);
        for image in images {
            before.extend_from_slice(&u32::try_from(image.len()).map_err(too_large)?.to_le_bytes());
            self.out.write_all(&before)?;
            before.clear();
            places.push(self.out.bytes_written() as u64);
            // What is hashed is what lies between the images.
            self.out.flush()?;
            self.out.inner().start_image();
            self.out.write_all(image)?;
            self.out.flush()?;
            self.out.inner().end_image();
        }
        Ok(())
    }

    /// Ends the row group whose columns were written.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        let columns = mem::take(&mut self.columns);
        let rows = columns.first().map_or(0, |column| column.rows_written);
        if columns.len() != self.schema.num_columns()
            || columns.iter().any(|column| column.rows_written != rows)
        {
            return Err(ParquetError::General("columns of a row group differ in length".into()));
        }
        let first = columns.first().map_or(0, |column| column.metadata.data_page_offset());
        let n_bytes = columns.iter().map(|column| column.metadata.uncompressed_size()).sum();
        let (mut pages, mut chunks) = (Vec::new(), Vec::new());
        for column in columns {
            pages.push(column.offset_index);
            chunks.push(column.metadata);
        }
        let group = RowGroupMetaData::builder(Arc::clone(&self.schema))
            .set_column_metadata(chunks)
            .set_total_byte_size(n_bytes)
            .set_num_rows(i64::try_from(rows).map_err(too_large)?)
            .set_ordinal(i32::try_from(self.groups.len()).map_err(too_large)?)
            .set_file_offset(first)
            .build()?;
        self.groups.push(group);
        self.pages.push(pages);
        self.out.flush()?;
        Ok(())
    }

    /// Writes the footer with some texts in it.
    pub(crate) fn finish(self, texts: Option<Vec<KeyValue>>) -> Result<()> {
        let mut index = PageIndexBuilder::new(0, 0);
        index.allocate_offset_indexes(self.groups.len(), self.schema.num_columns());
        for (group, pages) in self.pages.into_iter().enumerate() {
            for (column, pages) in pages.into_iter().enumerate() {
                if let Some(pages) = pages {
                    index.put_offset_index(pages, group, column);
                }
            }
        }
        let n_rows = self.groups.iter().map(RowGroupMetaData::num_rows).sum();
        let version = self.properties.writer_version().as_num();
        let made_by = Some(self.properties.created_by().to_owned());
        let file = FileMetaData::new(version, n_rows, made_by, texts, self.schema, None);
        let metadata = ParquetMetaDataBuilder::new(file)
            .set_row_groups(self.groups)
            .set_page_index(Some(Arc::new(index.build())))
            .build();
        ParquetMetaDataWriter::new_with_tracked(self.out, &metadata).finish()
    }
}

/// The number of images that the next page holds.
fn page_len(images: &[Bytes]) -> usize {
    let mut n_bytes = 0;
    let full = images.iter().position(|image| {
        n_bytes += 4 + image.len();
        n_bytes >= IMAGE_PAGE_BYTES
    });
    full.map_or(images.len(), |last| last + 1)
}

/// Definition levels of images that are all there: their length, and one run.
fn levels(n_images: u32) -> Vec<u8> {
    let mut run = Vec::new();
    push_varint(&mut run, u64::from(n_images) << 1);
    run.push(PRESENT);
    let mut all = (run.len() as u32).to_le_bytes().to_vec();
    all.append(&mut run);
    all
}
