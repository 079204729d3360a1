import { describe, expect, it } from 'vitest';
import { exampleNodesOf } from '../../../test/support/arbitrary/example-nodes.ts';
import { aSpec } from '../../../test/support/fixtures/builders.ts';
import { exampleSecretsBundle } from '../../../test/talos/example-config.ts';
import { labels } from '../../api/names.ts';
import type { ProviderConfigSpec } from '../../api/provider-config-spec.ts';
import type { NodeHardware } from '../../engine/node.ts';
import { describeNodeConfig } from './node-config.ts';

const instanceType = 'node.kubernetes.io/instance-type';
const region = 'topology.kubernetes.io/region';
const zone = 'topology.kubernetes.io/zone';

interface Placement {
  readonly hardware?: Partial<NodeHardware>;
  readonly failureDomain?: string;
}

/** The input of the configuration of a worker. */
async function describeWorker(change: (raw: Raw) => void = () => {}, { hardware, failureDomain }: Placement = {}) {
  const spec: ProviderConfigSpec = aSpec((raw) => {
    raw['workerPools'] = [{ name: 'work', replicas: 1, size: 'small' }];
    change(raw);
  });
  const node = exampleNodesOf(spec)[1];
  if (!node) throw new Error('the spec has no worker');
  return describeNodeConfig({
    ...{ spec, bundle: await exampleSecretsBundle(), trust: [], ...node },
    hardware: { ...node.hardware, ...hardware },
    machine: { ...node.machine, ...(failureDomain === undefined ? {} : { failureDomain }) },
  });
}
type Raw = Parameters<NonNullable<Parameters<typeof aSpec>[0]>>[0];

const inRegion = (raw: Raw): void => void Object.assign(raw['network'] as object, { region: 'basement' });
const external = (raw: Raw): void =>
  void Object.assign(raw['kubernetes'] as object, { externalCloudProvider: { enabled: true } });
const ofServer = { instanceType: 'AX42', topology: { region: 'fsn1', zone: 'fsn1-dc18' } };

describe('the labels of a node', () => {
  it('say the shape of a virtual machine, its failure domain, and the region of the ProviderConfig', async () => {
    expect((await describeWorker()).nodeLabels).toEqual({ [labels.pool]: 'work', [instanceType]: '2cpu-4096mib' });
    const placed = await describeWorker(inRegion, { failureDomain: 'east' });
    expect(placed.nodeLabels).toMatchObject({ [region]: 'basement', [zone]: 'east' });
  });

  it('say what the provider of a server knows, unless the ProviderConfig names another region', async () => {
    expect((await describeWorker(undefined, { hardware: ofServer })).nodeLabels).toEqual({
      ...{ [labels.pool]: 'work', [instanceType]: 'AX42', [region]: 'fsn1', [zone]: 'fsn1-dc18' },
    });
    expect((await describeWorker(inRegion, { hardware: ofServer })).nodeLabels).toMatchObject({ [region]: 'basement' });
  });

  it('are those of the pool where it has them too', async () => {
    const { nodeLabels } = await describeWorker((raw) => {
      raw['workerPools'] = [{ name: 'work', replicas: 1, size: 'small', labels: { [instanceType]: 'gpu' } }];
    });
    expect(nodeLabels[instanceType]).toBe('gpu');
  });

  it('are left to a cloud controller manager of others', async () => {
    const input = await describeWorker(external, { hardware: ofServer, failureDomain: 'east' });
    expect(input).toMatchObject({ externalCloudProvider: true, nodeLabels: { [labels.pool]: 'work' } });
    expect(Object.keys(input.nodeLabels)).toEqual([labels.pool]);
  });
});
