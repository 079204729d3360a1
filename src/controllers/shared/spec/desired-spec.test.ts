import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validOrInvalidClusterConfig } from '../../../../test/support/arbitrary/cluster-config.ts';
import { propertyParameters } from '../../../../test/support/arbitrary/property-parameters.ts';
import { aCluster, aProviderConfig, aSpec } from '../../../../test/support/fixtures/builders.ts';
import { heapBytes, runHeapGc } from '../../../../test/support/heap.ts';
import { ClusterConfig } from '../../../api/cluster-config.ts';
import type { ProviderConfig } from '../../../api/provider-config.ts';
import { ObjectStore } from '../../../kube/reflector/object-store.ts';
import { apiVersionOf } from '../../../kube/resource.ts';
import { platforms } from '../../../platforms/index.ts';
import type { Services } from '../services.ts';
import { choosePlatform } from './choose-platform.ts';
import { resolveDesiredSpec } from './desired-spec.ts';
import { validateSpec } from './validate-spec.ts';

const config = aProviderConfig(
  aSpec((raw) => {
    raw['workerPools'] = [{ name: 'work', replicas: 1, size: 'small' }];
  }),
);

function stocked(specs: Readonly<Record<string, object>>) {
  const clusterConfigs = new ObjectStore<ClusterConfig>();
  const put = (name: string, spec: object, version = 1): void => {
    clusterConfigs.put({
      apiVersion: apiVersionOf(ClusterConfig),
      kind: 'ClusterConfig',
      metadata: { namespace: 'team', name, uid: name, resourceVersion: String(version) },
      spec: spec as ClusterConfig['spec'],
    });
  };
  for (const [name, spec] of Object.entries(specs)) put(name, spec);
  const services = { platforms, stores: { clusterConfigs } as unknown as Services['stores'] };
  const desired = (names = Object.keys(specs), of: ProviderConfig = config) =>
    resolveDesiredSpec(services, of, aCluster({ clusterConfigs: names.map((name) => ({ name })) }));
  const drop = (name: string) => void clusterConfigs.drop({ namespace: 'team', name });
  return { put, drop, wish: desired };
}

const rejection = (specs: Readonly<Record<string, object>>, names?: string[]) => {
  const desired = stocked(specs).wish(names);
  if (!desired || !('refused' in desired)) throw new Error(`not refused: ${JSON.stringify(desired)}`);
  return desired.refused;
};

describe('the spec of a Cluster', () => {
  it('includes the changes of its ClusterConfigs', () => {
    const desired = stocked({ big: { workerPools: [{ name: 'work', replicas: 4 }] } }).wish();
    expect(desired).toHaveProperty('spec.workerPools.0.replicas', 4);
  });

  it('follows them: a change causes a new validation', () => {
    const { wish: desired, put } = stocked({ big: { workerPools: [{ name: 'work', replicas: 4 }] } });
    expect(desired()).toBe(desired());
    put('big', { workerPools: [{ name: 'work', replicas: 6 }] }, 2);
    expect(desired()).toHaveProperty('spec.workerPools.0.replicas', 6);
  });

  it('is evicted with its ClusterConfigs: 10,000 that come and go leave nothing in memory', () => {
    const { wish: desired, put, drop } = stocked({});
    const comeAndGo = (from: number, to: number): number => {
      for (let i = from; i < to; i += 1) {
        // A rejected spec is cached like any other.
        put(`c${i}`, { patches: [{ machine: { sysctls: 1 }, note: `${i} ${'x'.repeat(4000)}` }], workerPools: 1 });
        expect(desired([`c${i}`])).toHaveProperty('refused');
        drop(`c${i}`);
      }
      runHeapGc();
      return heapBytes();
    };
    const before = comeAndGo(0, 1000);
    const grown = comeAndGo(1000, 11_000) - before;
    // All together have 40 MB.
    expect(grown).toBeLessThan(8e6);
  });

  it('is validated again if the cache is too small for all Clusters', () => {
    const names = Array.from({ length: 400 }, (_, i) => `c${i}`);
    const { wish: desired } = stocked(Object.fromEntries(names.map((name) => [name, {}])));
    const assessed = names.map((name) => desired([name]));
    expect(desired([names.at(-1) ?? ''])).toBe(assessed.at(-1));
    expect(desired([names[0] ?? ''])).not.toBe(assessed[0]);
  });

  it('has a limited number of ClusterConfigs', () => {
    const names = Array.from({ length: 17 }, (_, i) => `c${i}`);
    const specs = Object.fromEntries(names.map((name) => [name, {}]));
    expect(stocked(specs).wish(names.slice(1))).toHaveProperty('spec');
    expect(rejection(specs, names)).toEqual({
      reason: 'InvalidReference',
      message: 'spec.clusterConfigs: 17 entries, at most 16 are allowed. Merge some ClusterConfigs.',
    });
  });

  it.each<[string, object, RegExp]>([
    [
      'a patch with too much text',
      { patches: [{ machine: { env: { A: 'x'.repeat(300_000) } } }] },
      /^ClusterConfig big, patches\[0\]: The patch has more than 256 KiB of text\. Split it/,
    ],
    [
      'patches that are too large together',
      {
        patches: Array.from({ length: 16 }, (_, i) => ({
          machine: {
            nodeAnnotations: Object.fromEntries(Array.from({ length: 2000 }, (__, k) => [`a${i}-${k}`, 'b'])),
          },
        })),
      },
      /^ClusterConfig big, patches\[\d+\]: The patches up to this one have more than 30000 keys and elements/,
    ],
    [
      'a size',
      { controlPlane: { size: 'huge' } },
      /^ClusterConfig big, controlPlane\.size: .*The size huge does not exist.*small/,
    ],
    ['an even number', { controlPlane: { replicas: 2 } }, /^ClusterConfig big, controlPlane\.replicas: .*1, 3 or 5/],
    [
      'a patch',
      { workerPools: [{ name: 'work', patches: [{ machine: { nonsense: true } }] }] },
      /^ClusterConfig big, workerPools\[0\]\.patches\[0\]: .*nonsense/,
    ],
    [
      'a label',
      { workerPools: [{ name: 'work', labels: { 'a b': 'c' } }] },
      /^ClusterConfig big, workerPools\[0\]\.labels: a b/,
    ],
    [
      'a pool',
      { workerPools: [{ name: 'other', size: 'small' }] },
      /^ClusterConfig big, workerPools\[0\]\.replicas: .*worker pool other, which the ProviderConfig does not have/,
    ],
    ['a type', { workerPools: 'many' }, /^ClusterConfig big, workerPools: /],
  ])('is rejected with the field of the ClusterConfig: %s', (_, spec, message) => {
    expect(rejection({ big: spec })).toEqual({
      reason: 'InvalidClusterConfig',
      message: expect.stringMatching(message),
    });
  });

  it.each<[string, object, RegExp]>([
    [
      'an address of the pool on a network interface',
      { patches: [{ machine: { network: { interfaces: [{ interface: 'eth0', addresses: ['192.168.10.21/24'] }] } } }] },
      /^ClusterConfig big, patches\[0\]: machine\.network cannot be set in a ClusterConfig: /,
    ],
    [
      'the endpoint, on control planes',
      { controlPlane: { patches: [{}, { apiVersion: 'v1alpha1', kind: 'Layer2VIPConfig', name: '192.168.10.20' }] } },
      /^ClusterConfig big, controlPlane\.patches\[1\]: Layer2VIPConfig cannot be set in a ClusterConfig: /,
    ],
    [
      'a mirror of the factory that installers come from',
      {
        patches: [
          { machine: { registries: { mirrors: { 'factory.talos.dev': { endpoints: ['https://mirror.example'] } } } } },
        ],
      },
      /^ClusterConfig big, patches\[0\]: machine\.registries\.mirrors\.factory\.talos\.dev cannot be set/,
    ],
    [
      'a file, on workers',
      { workerPools: [{ name: 'work', patches: [{ machine: { files: [{ path: '/var/x', content: 'x' }] } }] }] },
      /^ClusterConfig big, workerPools\[0\]\.patches\[0\]: machine\.files cannot be set in a ClusterConfig: /,
    ],
  ])('is rejected if cluster owners must not set it: %s', (_, spec, message) => {
    expect(rejection({ big: spec })).toEqual({
      reason: 'InvalidClusterConfig',
      message: expect.stringMatching(message),
    });
  });

  it('is rejected for a patch that only a ProviderConfig may contain', () => {
    const patches = [
      { machine: { network: { extraHostEntries: [{ ip: '198.51.100.9', aliases: ['registry.example'] }] } } },
    ];
    const patched = aProviderConfig(aSpec((raw) => void Object.assign(raw['talos'] as object, { patches })));
    expect(stocked({ big: {} }).wish(['big'], patched)).toHaveProperty('spec.talos.patches', patches);
    expect(rejection({ big: { patches } }).message).toMatch(/patches\[0\]: machine\.network cannot be set/);
  });

  it('includes the settings that cluster owners may change', () => {
    const patches = [
      { machine: { sysctls: { 'vm.max_map_count': '262144' }, kubelet: { extraConfig: { maxPods: 200 } } } },
      {
        apiVersion: 'v1alpha1',
        kind: 'RegistryMirrorConfig',
        name: 'docker.io',
        endpoints: [{ url: 'https://m.example' }],
      },
    ];
    const controlPlanes = [
      { cluster: { apiServer: { extraArgs: { 'event-ttl': '2h' } }, network: { cni: { name: 'none' } } } },
    ];
    const desired = stocked({ big: { patches, controlPlane: { patches: controlPlanes } } }).wish();
    expect(desired).toHaveProperty('spec.talos.patches', patches);
    expect(desired).toHaveProperty('spec.controlPlane.patches', controlPlanes);
  });

  it('is rejected with the field of the ProviderConfig if that is no longer sufficient', () => {
    const { message } = rejection({ big: { workerPools: [{ name: 'work', replicas: 100 }] } });
    expect(message).toMatch(/^With ClusterConfig big, network\.addressPool of the ProviderConfig: .*Add addresses\.$/);
  });

  it('is rejected with the reference to a missing ClusterConfig', () => {
    expect(rejection({ big: {} }, ['big', 'gone'])).toEqual({
      reason: 'InvalidReference',
      message:
        'spec.clusterConfigs[1]: there is no ClusterConfig gone in namespace team. Create it, or remove the entry.',
    });
  });

  it('does not attribute errors of the ProviderConfig to ClusterConfigs', () => {
    const wrong = aProviderConfig(
      aSpec((raw) => {
        raw['controlPlane'] = { size: 'gone' };
      }),
    );
    expect(stocked({ more: { workerPools: [] } }).wish(['more'], wrong)).toHaveProperty('spec');
  });
});

describe('generated ClusterConfigs, one or two for each Cluster', () => {
  const section = () => {
    const chosen = choosePlatform(platforms, config.spec);
    if (!chosen) throw new Error('a ProviderConfig without a platform');
    return chosen.section;
  };

  it('yield a valid spec, or a rejection with the field of one of them and the action to take', () => {
    const ends = { served: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(validOrInvalidClusterConfig, { minLength: 1, maxLength: 2 }), (specs) => {
        const desired = stocked(Object.fromEntries(specs.map((spec, i) => [`c${i}`, spec]))).wish();
        if (desired && 'spec' in desired) {
          ends.served += 1;
          expect(validateSpec(desired.spec, section())).toEqual([]);
        } else {
          ends.refused += 1;
          expect(desired?.refused.message).toMatch(
            /^(ClusterConfig c[01], [a-zA-Z.[\]0-9]+: |With ClusterConfig c0(, c1)?, [a-zA-Z]).*\.$/s,
          );
        }
      }),
      propertyParameters('ClusterConfigs', 250),
    );
    expect(Math.min(ends.served, ends.refused)).toBeGreaterThan(10);
  });
});
