import { expect, it } from 'vitest';
import { loadPageFiles } from '../../src/status/page/build-page.mjs';
import { contentTypeOf } from '../../src/status/server/page-files.ts';

const files = await loadPageFiles();
const index = files.find(({ path }) => path === 'index.html')?.content ?? '';
const maxBytes = 100 * 1000;

it('the status page is small: everything that a browser loads is below 100 kB', () => {
  const bytes = files.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(maxBytes);
});

it('the page refers to each of its files, by a name that changes with the content', () => {
  const assets = files.filter(({ path }) => path !== 'index.html');
  expect(assets.map(({ path }) => path.replace(/-[A-Z0-9]{8}\./, '.')).sort()).toEqual([
    'assets/icon.svg',
    'assets/main.js',
    'assets/page.css',
  ]);
  for (const { path } of assets) {
    expect(index).toContain(`"${path}"`);
    expect(contentTypeOf(path)).not.toBe('');
  }
});

it('the page has no inline script, style or handler, which its Content-Security-Policy would block', () => {
  expect(index).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/);
});

it('the page names no other host', () => {
  const urls = files.flatMap(({ content }) => content.match(/https?:\/\/[^\s"'`)]+/g) ?? []);
  // Names of the formats SVG, MathML and HTML, which are not loaded.
  expect(urls.filter((url) => !url.startsWith('http://www.w3.org/'))).toEqual([]);
});
