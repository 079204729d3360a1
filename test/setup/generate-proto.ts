import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Where the `.proto` files of the Talos API lie, and where the client made from them goes. */
export const protoFolder = join(root, 'src/talos/proto');
export const generatedFolder = join(root, 'src/talos/gen');

/**
 * Makes the Talos client from `src/talos/proto`, by `buf` with the local plugin: nothing is fetched. `into` is for the
 * check that the committed files are fresh; it gets the same tree.
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
