import { packTar } from 'modern-tar';
import { type WholeFileOptions, writeWholeFile } from '../backup/whole-file.ts';
import type { BundleFile } from './bundle-files.ts';

/** Writes the files as a `.tar.gz` with one folder, which the user alone can read. */
export async function writeBundle(
  target: WholeFileOptions,
  { folder, time, files }: { readonly folder: string; readonly time: Date; readonly files: readonly BundleFile[] },
): Promise<void> {
  const entries = files.map(({ path, text }) => {
    const body = Buffer.from(text, 'utf8');
    return {
      header: { name: `${folder}/${path}`, size: body.length, type: 'file' as const, mode: 0o600, mtime: time },
      body,
    };
  });
  const tar = await packTar(entries);
  await writeWholeFile(target, new Blob([tar]).stream().pipeThrough(new CompressionStream('gzip')));
}
