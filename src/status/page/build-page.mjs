// Bundles the page: one script, one style sheet, one icon, and `index.html` with their names. The bundle of the program
// contains the result; from source, and in tests, the page is built when the server starts.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;

/** The files of the page, and which packages are part of them. */
export async function bundlePage() {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(here, 'main.tsx'), join(here, 'page.css')],
    outdir: join(here, 'assets'),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: ['chrome110', 'firefox115', 'safari16'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
    tsconfig: join(here, 'tsconfig.json'),
  });
  const assets = outputFiles.map(({ path, text }) => ({ path: `assets/${basename(path)}`, content: text }));
  const icon = readFileSync(join(here, 'icon.svg'), 'utf8');
  assets.push({ path: `assets/icon-${hashOf(icon)}.svg`, content: icon });
  const nameOf = (ending) => assets.find(({ path }) => path.endsWith(ending))?.path ?? '';
  const index = readFileSync(join(here, 'index.html'), 'utf8')
    .replace('%SCRIPT%', nameOf('.js'))
    .replace('%STYLE%', nameOf('.css'))
    .replace('%ICON%', nameOf('.svg'));
  return { files: [{ path: 'index.html', content: index }, ...assets], metafile };
}

const hashOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();

/** The files of the page. */
export const loadPageFiles = async () => (await bundlePage()).files;
