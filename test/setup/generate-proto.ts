import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Folders with the `.proto` files of an API in `proto`, and what is generated from them in `gen`. */
export const protoHomes = ['src/talos', 'src/autoscaler'];

/** Generates the messages and services of each folder, with `buf` and the local plugin: nothing is downloaded. */
export async function generateProto(): Promise<void> {
  for (const home of protoHomes) await generateInto(join(root, home, 'proto'), join(root, home, 'gen'));
}

async function generateInto(folder: string, into: string): Promise<void> {
  const bin = join(root, 'node_modules/.bin');
  const template = {
    version: 'v2',
    plugins: [{ local: 'protoc-gen-es', out: into, opt: ['target=ts', 'import_extension=ts', 'erasable_syntax=true'] }],
  };
  await promisify(execFile)(join(bin, 'buf'), ['generate', '.', '--template', JSON.stringify(template)], {
    cwd: folder,
    env: { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH'] ?? ''}` },
    timeout: 60_000,
  });
}
