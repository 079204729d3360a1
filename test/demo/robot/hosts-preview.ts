import { Host } from '../../../src/api/host.ts';
import { group } from '../../../src/api/names.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { Secret } from '../../../src/kube/core-types.ts';
import { objectKeyOf, type ResourceType } from '../../../src/kube/resource.ts';
import type { DemoContext } from '../demo-context.ts';
import { demoNetwork } from '../loopback.ts';
import { DemoFailed, waitForResult } from '../wait-for-result.ts';
import { describeHostObject, robotConfigObjects } from './robot-objects.ts';

const [first, second] = [3140011, 3140012] as const;
const addressOf = (place: number): string => `${demoNetwork.servers}${place}`;

/** Two servers in a Robot account, for a preview. */
export const previewSeed = {
  servers: [first, second].map((number, at) => ({ number, address: addressOf(at + 1), gateway: demoNetwork.gateway })),
};

/** Two Hosts next to the virtual machines: a correct one, and one with a mistyped number. */
export async function demonstrateHosts({ session, world, screen }: DemoContext): Promise<void> {
  screen.chapter('Bare servers on the same platform cluster: one Host each, or they are never touched');
  const hosts = [
    describeHostObject('rack-a-1', { number: first, expect: { address: addressOf(1) } }),
    describeHostObject('rack-a-9', { number: second, expect: { address: addressOf(9) } }),
  ];
  const objects = [...(await robotConfigObjects(world)), ...hosts];
  await session.apply(objects);
  const stateOf = async (at: number): Promise<string | undefined> =>
    (await session.client.get(Host, objectKeyOf(objects.at(at - 2) as Host))).status?.state;
  await waitForResult('An answer of Robot', 30, async () => {
    const isTold = (await stateOf(0)) === 'Available' && (await stateOf(1)) === 'Failed';
    return isTold || undefined;
  });
  screen.say(await session.table(`/apis/${group}/v1alpha1/hosts`));
  if (world.robot.writes().length > 0 || world.robot.servers().some(({ bootCount }) => bootCount > 1))
    throw new DemoFailed('A server was touched for no reason.');
  screen.step('nothing was written, armed or rebooted; npm run demo -- --platform hetzner-robot makes them a cluster');
  for (const type of [Host, ProviderConfig, Secret] as const)
    for (const { metadata } of objects.filter(({ kind }) => kind === type.kind)) {
      await session.client.remove(type as ResourceType, metadata);
      await waitForResult(`The end of ${type.kind} ${metadata.name}`, 30, async () =>
        (await session.client.find(type as ResourceType, metadata)) ? undefined : true,
      );
    }
}
