import { Machine } from '../../src/api/machine.ts';
import { AccessRequest, Cluster, type NamespacedRef } from '../../src/api/openmcp.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { Stage } from '../e2e/support/stage.ts';
import { isOfProvider } from '../e2e/support/traces.ts';
import type { Call } from '../world/switchboard.ts';
import type { Bench, Figure } from './figure.ts';

const permission = { rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }] };

/** How often each call was made, e.g. `vm.query ×3`. */
function listed(calls: readonly Call[], nameOf = (call: Call) => call.name): string {
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(nameOf(call), (counts.get(nameOf(call)) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count === 1 ? `\`${name}\`` : `\`${name}\` ×${count}`)).join(', ');
}

/** Method and kind of object; names differ from run to run. */
const shapeOf = ({ name }: Call): string =>
  name
    .replace(/\/namespaces\/[^/]+\/(?=[a-z])/, '/')
    .replace(/^([A-Z]+) .*?\/(v1|v1alpha1)\//, '$1 ')
    .replace(/^([A-Z]+ [a-z]+)\/[^/]+/, '$1');

const home = (name: string): NamespacedRef => ({ namespace: 'bench', name });

async function open(): Promise<Stage> {
  const stage = await Stage.open({ subnet: '127.42.200' });
  stage.provider.start();
  await stage.things.credentials();
  await stage.things.config('home');
  return stage;
}

async function becomeReady({ platform, things }: Stage, ref: NamespacedRef): Promise<void> {
  await things.cluster(ref);
  await eventually('it is ready', async () => (await platform.get(Cluster, ref)).status?.phase === 'Ready');
}

async function vanish({ platform, things }: Stage, ref: NamespacedRef): Promise<void> {
  await things.remove(Cluster, ref);
  await eventually('it is gone', async () => (await platform.find(Cluster, ref)) === undefined);
}

async function beGranted({ platform, things }: Stage, name: string, cluster: NamespacedRef): Promise<void> {
  await things.request(home(name), { clusterRef: cluster, token: { permissions: [permission] } });
  await eventually('it is granted', async () => {
    return (await platform.get(AccessRequest, home(name))).status?.phase === 'Granted';
  });
}

/** What is asked of the TrueNAS system for one machine when its image is there already, and of API servers for one grant. */
export const calls: Bench = {
  name: 'Calls to the outside',
  async measure(say) {
    const stage = await open();
    const during = async (work: () => Promise<void>): Promise<readonly Call[]> => {
      const before = stage.calls.length;
      await work();
      return stage.calls.slice(before).filter(isOfProvider);
    };
    try {
      await becomeReady(stage, home('first'));
      say('the boot image is cached');
      const up = (await during(() => becomeReady(stage, home('second')))).filter(({ room }) => room === 'truenas');
      await beGranted(stage, 'warm', home('second'));
      const grant = (await during(() => beGranted(stage, 'counted', home('second')))).filter(
        ({ room }) => room === 'kube' || room === 'workload',
      );
      const down = (await during(() => vanish(stage, home('second')))).filter(({ room }) => room === 'truenas');
      const machines = (await stage.platform.list(Machine)).items.length;
      if (machines !== 1) throw new Error(`one machine should be left, not ${machines}`);
      const figures: Figure[] = [
        {
          what: 'TrueNAS calls for one machine, from nothing to a ready cluster',
          measured: `${up.length}: ${listed(up)}`,
          goal: '',
        },
        { what: 'TrueNAS calls back to nothing', measured: `${down.length}: ${listed(down)}`, goal: '' },
        {
          what: 'Kubernetes calls for one grant of one permission (renewals of the Lease and looks at the Cluster included)',
          measured: `${grant.length}: ${listed(grant, (call) => `${call.room === 'kube' ? 'platform' : 'cluster'} ${shapeOf(call)}`)}`,
          goal: '',
        },
      ];
      return figures;
    } finally {
      await stage.close();
    }
  },
};
