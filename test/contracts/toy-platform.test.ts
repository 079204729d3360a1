import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isTestFile, projectFiles, readProjectFile } from './source-tree.ts';
import { ProjectCopy } from './toy-platform/copy-project.ts';

const copy = new ProjectCopy();
afterAll(() => copy.remove());

/** A new platform is one folder, one entry of a list, and `npm run generate`. Nothing else of the project is changed. */
describe('a copy of the project with two more platforms', () => {
  const patience = 240_000;
  beforeAll(async () => {
    copy.addPlatform('test/contracts/toy-platform/toy', 'toy', 'toy');
    copy.addPlatform('test/contracts/toy-platform/toy-metal', 'toy-metal', 'toyMetal');
    await copy.run('--import', 'tsx', 'test/setup/generate.ts');
  }, patience);

  test('has its section in the CRD and in the generated pages', () => {
    const crd = 'config/crd/talos.clusters.openmcp.cloud_providerconfigs.yaml';
    expect(copy.read(crd)).toMatch(/^ +toy:$/m);
    expect(readProjectFile(crd)).not.toMatch(/^ +toy:$/m);
    expect(copy.read('docs/reference/fields.md')).toContain('| `spec.toy.folder` |');
    expect(copy.read('docs/reference/error-codes.md')).toContain('| `TOY_FOLDER_MISSING` |');
    expect(copy.read('docs/reference/steps.md')).toContain('`folder-created` → `image-fetched`');
  });

  test('has the sections of a platform with servers in the CRD of Hosts', () => {
    const crd = 'config/crd/talos.clusters.openmcp.cloud_hosts.yaml';
    expect(copy.read(crd).match(/^ +toyMetal:$/gm)).toHaveLength(2);
    expect(copy.read(crd)).not.toMatch(/^ +toy:$/m);
    const fields = copy.read('docs/reference/fields.md');
    expect(fields).toContain('| `spec.toyMetal.ending` |');
    expect(fields).toContain('| `status.toyMetal.files` |');
  });

  test('has no type errors', async () => {
    await copy.run('node_modules/typescript/bin/tsc', '--noEmit');
  });

  test(
    'serves a cluster on it, from nothing to ready and back to nothing',
    async () => {
      const seen = JSON.parse(await copy.run('--import', 'tsx', 'test/contracts/toy-platform/cluster-script.ts'));
      expect(seen).toEqual({
        machines: [{ platform: 'toy', phase: 'Ready' }],
        made: 1,
        left: { folders: 0, machines: 0 },
        faults: [],
      });
    },
    patience,
  );

  test(
    'accepts Hosts of a platform by its own rules, and only that platform uses them',
    async () => {
      const seen = JSON.parse(await copy.run('--import', 'tsx', 'test/contracts/toy-platform/host-script.ts'));
      const oneSection = /exactly one platform section must be given: .*toyMetal.*hetznerRobot/;
      expect(seen).toEqual({
        toyMetal: { files: 2 },
        rejected: [
          expect.stringContaining('serverID must be the name of a folder, such as rack-7'),
          expect.stringMatching(oneSection),
          expect.stringMatching(oneSection),
        ],
        message: 'No ProviderConfig of its platform uses this Host: no selector of a size fits its labels.',
        faults: [],
      });
    },
    patience,
  );
});

/** Files outside of the folders of platforms that may name one of them. */
const namesPlatforms = ['src/platforms/README.md', 'src/platforms/index.ts'];

test('no file of the program outside of its folder names a platform', () => {
  const isOwn = (path: string): boolean => /^src\/platforms\/[^/]+\//.test(path);
  const shared = projectFiles.filter((path) => path.startsWith('src/') && !isOwn(path) && !isTestFile(path));
  const naming = shared.filter((path) => /truenas|hetzner|robot/i.test(readProjectFile(path)));
  expect(naming).toEqual(namesPlatforms);
});

test('the generators name no platform', () => {
  const generators = projectFiles.filter((path) => /^test\/setup\/.*(generate|pages|tables?)[\w-]*\.ts$/.test(path));
  expect(generators.length).toBeGreaterThan(5);
  expect(generators.filter((path) => /truenas|hetzner|robot/i.test(readProjectFile(path)))).toEqual([]);
});
