import { isConditionTrue } from '../../../src/api/conditions.ts';
import type { Machine } from '../../../src/api/machine.ts';
import type { NamespacedRef } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { isUpdateOpen } from '../../../src/talos/update/update-context.ts';
import type { Testbed } from '../../e2e/support/testbed/testbed.ts';
import { eventually } from '../../support/eventually.ts';

export const changeConfig = ({ platform }: Testbed, name: string, spec: object): Promise<ProviderConfig> =>
  platform.merge(ProviderConfig, { name }, { spec });

/** Patches for {@link changeConfig}, which a running node takes without a restart. */
export const labelPatches = (value: string): object => ({
  talos: { patches: [{ machine: { nodeLabels: { 'example.org/disk': value } } }] },
});

/** Patches for {@link changeConfig}, which a node takes with a restart. */
export const restartPatches: object = {
  talos: { patches: [{ machine: { env: { http_proxy: 'http://192.0.2.9:3128' } } }] },
};

/** Waits until the Cluster is ready and up to date, and none of its Machines is being changed. */
export async function awaitUpToDate({ objects }: Testbed, ref: NamespacedRef, seconds: number): Promise<void> {
  const isDone = async (): Promise<boolean> => {
    const { status } = await objects.getCluster(ref);
    const isUpToDate = status?.phase === 'Ready' && isConditionTrue(status.conditions, 'UpToDate');
    return isUpToDate && (await objects.machines(ref)).every(isAtRest);
  };
  await eventually(`${ref.name} is up to date`, isDone, seconds);
}

const isAtRest = ({ status }: Machine): boolean =>
  isConditionTrue(status?.conditions, 'UpToDate') && !isUpdateOpen(status?.progress);
