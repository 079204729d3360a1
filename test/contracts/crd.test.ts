import { describe, expect, test } from 'vitest';
import { buildCrds } from '../../src/api/crd.ts';
import { generatedFiles } from '../setup/generated-files.ts';
import { openmcpCrds } from '../world/operator/crds.ts';
import { projectFiles, readProjectFile } from './source-tree.ts';

type Node = Record<string, unknown>;
type Found = readonly [path: string, node: Node];

interface Version {
  readonly name: string;
  readonly schema: { readonly openAPIV3Schema: Node };
  readonly subresources?: { readonly status?: object; readonly scale?: object };
  readonly additionalPrinterColumns: readonly { name: string; jsonPath: string; type: string; priority?: number }[];
  readonly selectableFields?: readonly { jsonPath: string }[];
}

const crds = buildCrds().map((crd) => {
  const [version] = crd.spec['versions'] as Version[];
  if (!version) throw new Error(`${crd.metadata.name} has no version`);
  return { name: crd.metadata.name, crd, version, root: version.schema.openAPIV3Schema };
});

/** Every node of a schema with its path. */
function* walk(node: Node, path = ''): Generator<Found> {
  yield [path, node];
  for (const [name, child] of Object.entries((node['properties'] ?? {}) as Record<string, Node>)) {
    yield* walk(child, `${path}.${name}`);
  }
  if (node['items']) yield* walk(node['items'] as Node, `${path}[]`);
  if (typeof node['additionalProperties'] === 'object') yield* walk(node['additionalProperties'] as Node, `${path}.*`);
}
const paths = (root: Node, isBad: (node: Node, path: string) => boolean) =>
  [...walk(root)].filter(([path, node]) => isBad(node, path)).map(([path]) => path);

describe.each(crds)('$name', ({ crd, version, root }) => {
  test('C7: is for platform clusters: the operator of another provider would refuse to install it', () => {
    expect(crd.metadata.labels).toEqual({ 'openmcp.cloud/cluster': 'platform' });
    expect(crd.spec).toMatchObject({ names: { categories: ['openmcp', 'talos'] } });
  });

  test('has a status of its own and is cluster-scoped, unless users only write it for their Clusters', () => {
    const isRead = crd.metadata.name.startsWith('clusterconfigs.');
    expect(crd.spec['scope']).toBe(isRead ? 'Namespaced' : 'Cluster');
    const scale = {
      ...{ specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      labelSelectorPath: '.status.selector',
    };
    const isScaled = crd.metadata.name.startsWith('nodepools.');
    expect(version.subresources).toEqual(isRead ? undefined : { status: {}, ...(isScaled && { scale }) });
  });

  test('every field has a type', () => {
    expect(paths(root, (node) => node['type'] === undefined)).toEqual([]);
  });

  test('the schema contains only keywords of a structural schema', () => {
    const foreign = [
      'anyOf',
      'oneOf',
      'allOf',
      'not',
      '$ref',
      'const',
      'exclusiveMinimum',
      'propertyNames',
      'nullable',
    ];
    expect(paths(root, (node) => foreign.some((keyword) => keyword in node))).toEqual([]);
    expect(
      paths(root, (node) => node['properties'] !== undefined && node['additionalProperties'] !== undefined),
    ).toEqual([]);
  });

  test('every field that users write has a description, in full sentences', () => {
    const nameless = (path: string) => path === '' || path === '.metadata' || /(\[\]|\.\*)$/.test(path);
    const mute = paths(
      root,
      (node, path) => !nameless(path) && !/^[^a-z].*\.$/s.test(String(node['description'] ?? '')),
    );
    expect(mute).toEqual([]);
  });

  test('a default is part of the description', () => {
    const silent = paths(root, (node, path) => {
      if (!path.startsWith('.spec') || node['default'] === undefined || node['type'] === 'object') return false;
      return !String(node['description']).includes('Default:');
    });
    expect(silent).toEqual([]);
  });

  test('strings, lists and maps have a maximum size, so that CEL stays affordable', () => {
    const bounded = (node: Node) =>
      node['maxLength'] !== undefined || node['enum'] !== undefined || node['format'] !== undefined;
    const endless = paths(
      root,
      (node, path) =>
        path.startsWith('.spec') &&
        ((node['type'] === 'string' && !bounded(node)) || (node['type'] === 'array' && node['maxItems'] === undefined)),
    );
    expect(endless).toEqual([]);
  });

  test('patterns are RE2: no look-around, no back-references, anchored', () => {
    const odd = paths(root, (node) => {
      const pattern = node['pattern'];
      return typeof pattern === 'string' && (/\(\?[=!<]|\\[1-9]/.test(pattern) || !/^\^.*\$$/s.test(pattern));
    });
    expect(odd).toEqual([]);
  });

  test('integers are integers of a known width', () => {
    const bad = paths(root, ({ type, format, minimum, maximum }) => {
      if (type !== 'integer') return false;
      const within = Number(minimum) >= -(2 ** 31) && Number(maximum) < 2 ** 31;
      return format !== 'int64' && !within;
    });
    expect(bad).toEqual([]);
  });

  test('every rule has a message in plain words', () => {
    const rules = [...walk(root)].flatMap(
      ([, node]) => (node['x-kubernetes-validations'] ?? []) as { message?: string }[],
    );
    for (const { message } of rules) expect(message).toMatch(/^[a-zA-Z]\S*( \S+)+$/);
  });

  test('lists that are maps have keys that every item carries', () => {
    const bad = paths(root, (node) => {
      if (node['x-kubernetes-list-type'] !== 'map') return false;
      const items = node['items'] as { properties?: Node; required?: string[] };
      const keys = node['x-kubernetes-list-map-keys'] as string[] | undefined;
      return !keys?.length || !keys.every((key) => items.required?.includes(key));
    });
    expect(bad).toEqual([]);
  });

  test('columns and selectable fields refer to existing fields', () => {
    const known = new Set([...walk(root)].map(([path]) => path));
    const plain = version.additionalPrinterColumns
      .map(({ jsonPath }) => jsonPath)
      .filter((path) => !path.includes('['));
    const selected = (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath);
    const lost = [...plain, ...selected].filter((path) => !path.startsWith('.metadata.') && !known.has(path));
    expect(lost).toEqual([]);
  });

  test('kubectl get shows the reason for a wait and fits a terminal', () => {
    const shown = version.additionalPrinterColumns.filter(({ priority = 0 }) => priority === 0).map(({ name }) => name);
    // A kind without a status waits for nothing, and the numbers of a NodePool say it all.
    const isCount = version.subresources?.scale !== undefined;
    expect(shown).toEqual(expect.arrayContaining(version.subresources && !isCount ? ['Why', 'Age'] : ['Age']));
    expect(shown.length).toBeLessThanOrEqual(7);
  });
});

test('P52: the server of a Host cannot be changed', () => {
  const { root } = crds.find(({ name }) => name.startsWith('hosts.')) ?? { root: {} };
  const id = [...walk(root)].find(([path]) => path === '.spec.serverID')?.[1];
  expect(id?.['x-kubernetes-validations']).toMatchObject([{ rule: 'self == oldSelf' }]);
});

test('short names collide neither with each other nor with those of openMCP', () => {
  const names = [...buildCrds(), ...openmcpCrds].flatMap(
    (crd) => (crd.spec['names'] as { shortNames?: string[] }).shortNames ?? [],
  );
  expect(new Set(names).size).toBe(names.length);
});

describe('the files match the code', () => {
  test.each([...generatedFiles()].map(([path, content]) => ({ path, content })))(
    '$path is fresh (else: npm run generate)',
    ({ path, content }) => {
      expect(projectFiles.includes(path) ? readProjectFile(path) : 'missing').toBe(content);
    },
  );

  test('config/crd holds nothing else', () => {
    const made = [...generatedFiles().keys()].filter((path) => path.startsWith('config/crd/'));
    expect(projectFiles.filter((path) => path.startsWith('config/crd/'))).toEqual([...made].sort());
  });
});
