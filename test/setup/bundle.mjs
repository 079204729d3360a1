// Builds the program into `dist/`: the source and the used parts of each package, in a few files. Node then opens 5
// files instead of 1,400, which takes most of the startup time of `run`, and no package manager is shipped. `npm run
// check` checks the types.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { bundlePage } from '../../src/status/page/build-page.mjs';
import { listOfParts, partsFile } from './sbom.mjs';

/**
 * CommonJS packages load Node's modules with `require`, and their own location with `__dirname`: ES modules have
 * neither.
 */
const banner = [
  "import { createRequire } from 'node:module';",
  'const require = createRequire(import.meta.url);',
  'const __dirname = import.meta.dirname;',
].join('\n');

/**
 * client-node depends on node-fetch, which the provider never uses; it loads packages that use Node's deprecated
 * `punycode`, for which Node prints a warning to stderr that is not JSON. The replacement throws when it is called. It
 * must not refer to Node's own `Headers` either: that loads Node's built-in undici, which then replaces the provider's
 * dispatcher.
 */
const noFetch = {
  name: 'no-fetch',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node-fetch$/ }, () => ({ path: 'node-fetch', namespace: 'no-fetch' }));
    onLoad({ filter: /./, namespace: 'no-fetch' }, () => ({
      contents: [
        "const refuse = () => { throw new Error('Requests of client-node are not part of this program.'); };",
        'export default refuse;',
        'export class Headers { constructor() { refuse(); } }',
        'export class FetchError extends Error {}',
        'export class AbortError extends Error {}',
      ].join('\n'),
    }));
  },
};

const page = await bundlePage();

/** The status page is part of the program: no bundler is needed at run time, and no file is read. */
const builtPage = {
  name: 'built-page',
  setup({ onLoad }) {
    onLoad({ filter: /build-page\.mjs$/ }, () => ({
      contents: `export const loadPageFiles = async () => ${JSON.stringify(page.files)};`,
    }));
  },
};

rmSync('dist', { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  // `init` does not load code that only `run` needs.
  splitting: true,
  chunkNames: 'parts/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  // Native code makes ssh2 faster, but it also works without.
  external: ['*.node', 'cpu-features'],
  target: 'node20.19',
  // Names of classes and functions appear in errors.
  keepNames: true,
  // A process keeps the text of its program in memory: twice as much of it as soon as one comment has a character
  // outside of Latin-1.
  minifyWhitespace: true,
  // An uncaught error is printed with its line of code.
  lineLimit: 160,
  legalComments: 'none',
  banner: { js: banner },
  plugins: [noFetch, builtPage],
  metafile: true,
  logLevel: 'warning',
});
writeFileSync('dist/package.json', '{ "type": "module" }\n');
const folders = [...new Set([metafile, page.metafile].flatMap(packagesIn))].sort();
writeFileSync('dist/THIRD-PARTY-NOTICES.txt', notices(folders));
writeFileSync(`dist/${partsFile}`, listOfParts(folders.map(manifestOf)));

/** Folders of the bundled packages, in alphabetical order. */
function packagesIn({ outputs }) {
  const used = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0),
  );
  const folders = used.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

/** The licences require that these texts are distributed with the program. */
function notices(folders) {
  return folders
    .map((folder) => {
      const { name, version, license } = manifestOf(folder);
      return `${name} ${version} (${license})\n\n${licenceIn(folder)}`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function licenceIn(folder) {
  const file = readdirSync(folder).find((name) => /^(licen[cs]e|copying)/i.test(name));
  return file ? `${readFileSync(join(folder, file), 'utf8').trim()}\n` : 'The package brings no text of its licence.\n';
}

function manifestOf(folder) {
  const path = join(folder, 'package.json');
  if (!existsSync(path)) throw new Error(`${folder} is not a package. Run this in the root folder of the project.`);
  return JSON.parse(readFileSync(path, 'utf8'));
}

process.stderr.write(`Built dist/ from ${folders.length} packages and our own source.\n`);
