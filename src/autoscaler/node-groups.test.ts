import { expect, it } from 'vitest';
import { aCluster, anInstance, aProviderConfig, aSpec } from '../../test/support/fixtures/builders.ts';
import { aScalablePool } from '../../test/support/fixtures/scalable-pools.ts';
import type { Services } from '../controllers/shared/services.ts';
import { platforms } from '../platforms/index.ts';
import { listScalablePools } from './node-groups.ts';

const { nodePool } = aScalablePool([]);

const poolsWith = (externalCloudProvider: boolean) => {
  const spec = aSpec((raw) => {
    raw['workerPools'] = [{ name: 'work', replicas: 1, maxReplicas: 3, size: 'small' }];
    Object.assign(raw['kubernetes'] as object, { externalCloudProvider: { enabled: externalCloudProvider } });
  });
  const services = {
    ...{ ...anInstance, platforms },
    stores: {
      providerConfigs: { list: () => [aProviderConfig(spec)] },
      nodePools: { by: () => [nodePool] },
      machines: { by: () => [] },
    },
  } as unknown as Services;
  return listScalablePools(services, aCluster());
};

it('an autoscaler gets the pools that can be scaled, unless the provider ids of the Nodes come from others', () => {
  expect(poolsWith(false).map(({ workers }) => workers.name)).toEqual(['work']);
  expect(poolsWith(true)).toEqual([]);
});
