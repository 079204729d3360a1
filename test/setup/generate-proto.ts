import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The `.proto` files of the Talos API, and the client generated from them. */
export const protoFolder = join(root, 'src/talos/proto');
export const generatedFolder = join(root, 'src/talos/gen');

/**
 * Generates the Talos client from `src/talos/proto`, with `buf` and the local plugin: nothing is downloaded. `into` is
 * for the check that the committed files are up to date; it gets the same tree.
 */
export async function generateProto(into: string = generatedFolder): Promise<void> {
  const bin = join(root, 'node_modules/.bin');
  const template = {
    version: 'v2',
    plugins: [{ local: 'protoc-gen-es', out: into, opt: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'] }],
  };
  await promisify(execFile)(join(bin, 'buf'), ['generate', '.', '--template', JSON.stringify(template)], {
    cwd: protoFolder,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
    timeout: 60_000,
  });
}
