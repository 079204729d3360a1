// Builds the program into `dist/`: our source and what it needs of each package, in a few files. Node then opens 5 files
// instead of 1,400, which is most of the time that `run` needs until it is ready, and no package manager is shipped.
// Types are judged by `npm run check`, not here.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { build } from 'esbuild';
import { listOfParts, partsFile } from './sbom.mjs';

/**
 * Packages of the older module system ask for Node's own modules by `require`, and where they lie by `__dirname`: such files
 * have neither by themselves.
 */
const banner = [
  "import { createRequire } from 'node:module';",
  'const require = createRequire(import.meta.url);',
  'const __dirname = import.meta.dirname;',
].join('\n');

/**
 * client-node brings node-fetch for requests of its own, which we never make; with it come packages that ask for Node's deprecated
 * `punycode`, and Node says so on the error stream, in words that are no JSON. What takes its place refuses to be used. It must not name
 * Node's own `Headers` either: that loads Node's own undici, which then puts its dispatcher in the place of ours.
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

rmSync('dist', { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['src/main.ts'],
  outdir: 'dist',
  bundle: true,
  // What only `run` needs is not read by `init`.
  splitting: true,
  chunkNames: 'parts/[name]-[hash]',
  format: 'esm',
  platform: 'node',
  // ssh2 is quicker with code that was compiled where it was installed, and does without.
  external: ['*.node', 'cpu-features'],
  target: 'node20.19',
  // Names of classes and functions appear in errors.
  keepNames: true,
  // A process keeps the text of its program in memory: twice as much of it as soon as one comment has a letter beyond Latin-1.
  minifyWhitespace: true,
  // An error that nobody caught is printed with the line that it comes from.
  lineLimit: 160,
  legalComments: 'none',
  banner: { js: banner },
  plugins: [noFetch],
  metafile: true,
  logLevel: 'warning',
});
writeFileSync('dist/package.json', '{ "type": "module" }\n');
const folders = packagesIn(metafile);
writeFileSync('dist/THIRD-PARTY-NOTICES.txt', notices(folders));
writeFileSync(`dist/${partsFile}`, listOfParts(folders.map(manifestOf)));

/** Folders of the packages that something was taken from, in alphabetical order. */
function packagesIn({ outputs }) {
  const used = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => inputs[path].bytesInOutput > 0),
  );
  const folders = used.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

/** Whoever gives the program on owes these texts to the authors of what is in it. */
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
