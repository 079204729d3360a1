import { describe, expect, test } from 'vitest';
import { readProjectFile } from './source-tree.ts';

const text = readProjectFile('Dockerfile');
const stages = text.split(/^FROM /m).slice(1);
const bases = [...text.matchAll(/^ARG (\w+)=(\S+)$/gm)].map(([, name = '', image = '']) => ({ name, image }));
const last = stages.at(-1) ?? '';

describe('the Dockerfile', () => {
  test('names its base images by tag and digest, and uses no others', () => {
    expect(bases.map(({ name }) => name)).toEqual(['NODE', 'BASE']);
    for (const { image } of bases) expect(image).toMatch(/^[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    const used = stages.map((testbed) => /\$\{(\w+)\}(?: AS \w+)?$/m.exec(testbed.split('\n')[0] ?? '')?.[1]);
    expect(used).toEqual(['NODE', 'NODE', 'BASE']);
  });

  test('ends on a base without a shell and a package manager, and runs nothing there', () => {
    expect(bases.find(({ name }) => name === 'BASE')?.image).toMatch(/^gcr\.io\/distroless\/cc-debian12:nonroot@/);
    expect(last).not.toMatch(/^(RUN|SHELL|CMD) /m);
    expect(last).toMatch(/^ENTRYPOINT \["node", "\/app\/main\.js"\]$/m);
    expect(last).toMatch(/^USER 65532:65532$/m);
  });

  test("works with Docker's old builder, which knows no variables of platforms", () => {
    // The old builder rejects an empty platform without further explanation.
    for (const [, name = '', rest = ''] of text.matchAll(/\$\{?((?:BUILD|TARGET)[A-Z]+)(:-[^}]+)?/g)) {
      expect(rest, name).toMatch(/^:-linux\/\w+$/);
    }
    expect(text).not.toMatch(/^RUN --mount|<<|^COPY .*--(?:link|chmod|parents|exclude)/m);
  });

  test('has the Node version that the release guide names', () => {
    const version = /^ARG NODE=node:([\d.]+)-/m.exec(text)?.[1];
    expect(version).toMatch(/^24\.\d+\.\d+$/);
    expect(readProjectFile('test/setup/run.mjs')).toContain('const imageNode = 24;');
    expect(readProjectFile('docs/release.md')).toContain('docker buildx imagetools inspect');
  });
});
