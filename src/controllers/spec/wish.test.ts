import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { someClusterConfig } from '../../../test/support/arbitrary/cluster-config.ts';
import { trials } from '../../../test/support/arbitrary/property.ts';
import { aCluster, aProviderConfig, aSpec } from '../../../test/support/builders.ts';
import { ClusterConfig } from '../../api/cluster-config.ts';
import type { ProviderConfig } from '../../api/provider-config.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { Store } from '../../kube/store.ts';
import { platforms } from '../../platforms/index.ts';
import { validateSpec } from '../provider-config/validate.ts';
import type { Services } from '../services.ts';
import { choosePlatform } from './platform.ts';
import { wishOf } from './wish.ts';

const config = aProviderConfig(
  aSpec((raw) => {
    raw['workerPools'] = [{ name: 'work', replicas: 1, size: 'small' }];
  }),
);

function stocked(specs: Readonly<Record<string, object>>) {
  const clusterConfigs = new Store<ClusterConfig>();
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
  const wish = (names = Object.keys(specs), of: ProviderConfig = config) =>
    wishOf(services, of, aCluster({ clusterConfigs: names.map((name) => ({ name })) }));
  return { put, wish };
}

const refusal = (specs: Readonly<Record<string, object>>, names?: string[]) => {
  const wish = stocked(specs).wish(names);
  if (!wish || !('refused' in wish)) throw new Error(`not refused: ${JSON.stringify(wish)}`);
  return wish.refused;
};

describe('what a Cluster is to be like', () => {
  it('is as its ClusterConfigs change it', () => {
    const wish = stocked({ big: { workerPools: [{ name: 'work', replicas: 4 }] } }).wish();
    expect(wish).toHaveProperty('spec.workerPools.0.replicas', 4);
  });

  it('follows them: what was judged before is judged anew when one changed', () => {
    const { wish, put } = stocked({ big: { workerPools: [{ name: 'work', replicas: 4 }] } });
    expect(wish()).toBe(wish());
    put('big', { workerPools: [{ name: 'work', replicas: 6 }] }, 2);
    expect(wish()).toHaveProperty('spec.workerPools.0.replicas', 6);
  });

  it.each<[string, object, RegExp]>([
    ['a size', { controlPlane: { size: 'huge' } }, /^ClusterConfig big, controlPlane\.size: .*no size huge.*small/],
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
      /^ClusterConfig big, workerPools\[0\]\.replicas: .*no pool other/,
    ],
    ['a type', { workerPools: 'many' }, /^ClusterConfig big, workerPools: /],
  ])('is refused by the field of the ClusterConfig: %s', (_, spec, message) => {
    expect(refusal({ big: spec })).toEqual({ reason: 'InvalidClusterConfig', message: expect.stringMatching(message) });
  });

  it('is refused by the field of the ProviderConfig where that does not suffice any more', () => {
    const { message } = refusal({ big: { workerPools: [{ name: 'work', replicas: 100 }] } });
    expect(message).toMatch(/^With ClusterConfig big, network\.addressPool of the ProviderConfig: .*Add some\.$/);
  });

  it('is refused by the reference that leads nowhere', () => {
    expect(refusal({ big: {} }, ['big', 'gone'])).toEqual({
      reason: 'InvalidReference',
      message:
        'spec.clusterConfigs[1]: there is no ClusterConfig gone in namespace team. Create it, or remove the entry.',
    });
  });

  it('is not blamed on ClusterConfigs when the ProviderConfig is wrong already', () => {
    const wrong = aProviderConfig(
      aSpec((raw) => {
        raw['controlPlane'] = { size: 'gone' };
      }),
    );
    expect(stocked({ more: { workerPools: [] } }).wish(['more'], wrong)).toHaveProperty('spec');
  });
});

describe('generated ClusterConfigs, one or two to a Cluster', () => {
  const section = () => {
    const chosen = choosePlatform(platforms, config.spec);
    if (!chosen) throw new Error('a ProviderConfig without a platform');
    return chosen.section;
  };

  it('are served as a spec that is right, or refused by the field of one of them and with what to do', () => {
    const ends = { served: 0, refused: 0 };
    fc.assert(
      fc.property(fc.array(someClusterConfig, { minLength: 1, maxLength: 2 }), (specs) => {
        const wish = stocked(Object.fromEntries(specs.map((spec, i) => [`c${i}`, spec]))).wish();
        if (wish && 'spec' in wish) {
          ends.served += 1;
          expect(validateSpec(wish.spec, section())).toEqual([]);
        } else {
          ends.refused += 1;
          expect(wish?.refused.message).toMatch(
            /^(ClusterConfig c[01], [a-zA-Z.[\]0-9]+: |With ClusterConfig c0(, c1)?, [a-zA-Z]).*\.$/s,
          );
        }
      }),
      trials('ClusterConfigs', 250),
    );
    expect(Math.min(ends.served, ends.refused)).toBeGreaterThan(10);
  });
});
