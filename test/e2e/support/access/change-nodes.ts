import { expect } from 'vitest';
import { isConditionTrue } from '../../../../src/api/conditions.ts';
import type { Machine } from '../../../../src/api/machine.ts';
import { Cluster, type NamespacedRef } from '../../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../../src/api/provider-config.ts';
import { eventually } from '../../../support/eventually.ts';
import type { Testbed } from '../testbed/testbed.ts';

const home = { name: 'home' };
const extensions = ['siderolabs/qemu-guest-agent', 'siderolabs/iscsi-tools'];

/** Rolls out another boot image of the ProviderConfig `home`, with which every node of the only Cluster restarts. */
export async function restartNodesByRollout(testbed: Testbed, ref: NamespacedRef): Promise<void> {
  const { objects, platform, world } = testbed;
  const boots = () => world.machines.nodes().map((node) => node.boots);
  const schematicOf = ({ status }: Machine) => status?.applied?.schematic;
  const [former, formerBoots] = [(await objects.machines(ref)).map(schematicOf), boots()];
  await platform.merge(ProviderConfig, home, { spec: { talos: { extensions } } });
  await allFollow(testbed, ref, (machine) => !former.includes(schematicOf(machine)));
  const all = boots();
  expect(all.length).toBe(formerBoots.length);
  expect(all.filter((count, i) => count <= (formerBoots[i] ?? 0))).toEqual([]);
}

/** Upgrades Kubernetes of a Cluster of the ProviderConfig `home` to this version. */
export async function upgradeKubernetes(testbed: Testbed, ref: NamespacedRef, version: string): Promise<void> {
  const { platform } = testbed;
  const { spec } = await platform.get(ProviderConfig, home);
  const versions = [{ version }, ...spec.kubernetes.versions];
  await platform.merge(ProviderConfig, home, { spec: { kubernetes: { versions } } });
  await platform.merge(Cluster, ref, { spec: { kubernetes: { version } } });
  await allFollow(testbed, ref, ({ status }) => status?.applied?.kubernetesVersion === version);
}

/** Waits until every Machine has the change, and the Cluster is up to date. */
async function allFollow({ objects }: Testbed, ref: NamespacedRef, has: (machine: Machine) => boolean): Promise<void> {
  await eventually(
    'every node has the change',
    async () => {
      const machines = await objects.machines(ref);
      const { status } = await objects.getCluster(ref);
      const areDone = machines.every((one) => has(one) && isConditionTrue(one.status?.conditions, 'UpToDate'));
      return areDone && status?.phase === 'Ready' && isConditionTrue(status.conditions, 'UpToDate');
    },
    300,
  );
}
