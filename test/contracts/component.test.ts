import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { findPeer, missingPeers } from '../peers/find-peer.ts';
import { projectRoot } from '../setup/generated-files.ts';
import { describeUnlessMissing } from '../support/describe-unless-missing.ts';
import { projectFiles, readProjectFile } from './source-tree.ts';

const constructorFile = 'config/ocm/component-constructor.yaml';
const text = readProjectFile(constructorFile);
const workflow = readProjectFile('.github/workflows/release.yml');
const variables = [...new Set([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name))];
const settings: Readonly<Record<string, string>> = {
  COMPONENT: 'git.example/openmcp/cluster-provider-talos',
  VERSION: (JSON.parse(readProjectFile('package.json')) as { version: string }).version,
  PROVIDER: 'openmcp',
  SOURCE: 'https://git.example/openmcp/cluster-provider-talos',
  COMMIT: '0123456789012345678901234567890123456789',
  IMAGE: `registry.example/openmcp/cluster-provider-talos@sha256:${'0'.repeat(64)}`,
};

test('the component of a release has no variable that the workflow does not set', () => {
  expect(variables.sort()).toEqual(Object.keys(settings).sort());
  for (const name of variables) expect(workflow, name).toMatch(new RegExp(`\\b${name}="`));
  expect(workflow).toContain(constructorFile);
});

test('what the component packs exists', () => {
  const { components } = parse(text) as { components: { resources: { input?: { path: string } }[] }[] };
  const packed = components.flatMap(({ resources }) => resources.flatMap(({ input }) => input?.path ?? []));
  expect(packed).toHaveLength(2);
  for (const path of packed) {
    const folder = join('config/ocm', path);
    expect(projectFiles.some((file) => file.startsWith(`${folder}/`))).toBe(true);
  }
});

describeUnlessMissing('the component, made by the real ocm', missingPeers('ocm'), () => {
  const folder = mkdtempSync(join(tmpdir(), 'component-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const archive = join(folder, 'component');
  const ocm = (...words: string[]): string =>
    execFileSync(findPeer('ocm') ?? 'ocm', words, { cwd: projectRoot, encoding: 'utf8', stdio: 'pipe' });

  beforeAll(() => {
    const values = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    // A digest of the image needs its registry.
    const flags = ['--create', '--skip-digest-generation', '--file', archive];
    ocm('add', 'componentversions', ...flags, constructorFile, '--', ...values);
  }, 60_000);

  test('names image, chart and CRDs, each of the version of the release', () => {
    const { items } = JSON.parse(ocm('get', 'componentversions', archive, '--output', 'json')) as {
      items: { component: Component }[];
    };
    const [only, ...more] = items.map(({ component }) => component);
    expect(more).toEqual([]);
    expect(only).toMatchObject({ name: settings['COMPONENT'], version: settings['VERSION'] });
    expect(only?.sources[0]?.access).toMatchObject({ type: 'gitHub', commit: settings['COMMIT'] });
    expect(only?.resources.map(({ name, type, version }) => [name, type, version])).toEqual([
      ['cluster-provider-talos-image', 'ociImage', settings['VERSION']],
      ['cluster-provider-talos-chart', 'helmChart', settings['VERSION']],
      ['cluster-provider-talos-crds', 'directoryTree', settings['VERSION']],
    ]);
    expect(only?.resources[0]?.access).toMatchObject({ imageReference: settings['IMAGE'] });
  });

  test('has every CRD as it is in the source', () => {
    const target = join(folder, 'crds');
    ocm('download', 'resources', archive, 'cluster-provider-talos-crds', '--outfile', target);
    execFileSync('tar', ['-xzf', target, '-C', folder]);
    const unpacked = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
    expect(unpacked.sort()).toEqual(readdirSync(join(projectRoot, 'config/crd')).sort());
    for (const name of unpacked)
      expect(readFileSync(join(folder, name), 'utf8')).toBe(readProjectFile(`config/crd/${name}`));
  });

  test('has a chart that the source of the release makes', () => {
    const target = join(folder, 'chart.tgz');
    ocm('download', 'resources', archive, 'cluster-provider-talos-chart', '--outfile', target);
    const chart = execFileSync('tar', ['-xzOf', target, 'cluster-provider-talos/Chart.yaml'], { encoding: 'utf8' });
    expect(parse(chart)).toMatchObject({ name: 'cluster-provider-talos', version: settings['VERSION'] });
  });
});

interface Component {
  readonly name: string;
  readonly version: string;
  readonly sources: readonly { readonly access: object }[];
  readonly resources: readonly {
    readonly name: string;
    readonly type: string;
    readonly version: string;
    readonly access: object;
  }[];
}
