import { afterEach, describe, expect, it } from 'vitest';
import { Fleet } from '../../src/fleet/fleet.ts';
import { FleetCache } from '../../src/fleet/fleet-cache.ts';
import type { RemovalGuardOptions } from '../../src/fleet/removal-guard.ts';
import { followSecrets } from '../../src/fleet/secret-inventory.ts';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Namespace, Secret } from '../../src/kube/core-types.ts';
import { type ApiServerConnection, createApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { type Log, noLog } from '../../src/lib/log.ts';
import { SecretString } from '../../src/lib/secret-string.ts';
import { eventually } from '../support/eventually.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { createKubeStore, type StoreContent } from '../world/kube/storage/store.ts';
import { startSimulatedServer } from './support/simulated-server.ts';

const namespace = 'fleet';
const label = { 'sigs.k8s.io/multicluster-runtime-kubeconfig': 'true' };
const six = ['a', 'b', 'c', 'd', 'e', 'f'];
const open = (connection: ApiServerConnection) =>
  new KubeClient(new Transport(connection), { fieldManager: 'test', deadlineSeconds: 10 });

/** An API server with six Secrets, all of one member cluster, and a fleet that follows them in the test's time. */
async function startFleet(removalGuard: RemovalGuardOptions = {}) {
  const store = createKubeStore();
  const [hub, member] = await Promise.all([startSimulatedServer(['t'], { store }), startSimulatedServer(['t'])]);
  const clientOf = ({ url, authority }: typeof hub) =>
    open(createApiServerConnection({ server: url, ca: authority.cert, token: new SecretString('t') }));
  const [client, memberClient] = [clientOf(hub), clientOf(member)];
  const kubeconfig = JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
    clusters: [
      {
        name: 'it',
        cluster: { server: member.url, 'certificate-authority-data': toBase64(member.authority.cert) },
      },
    ],
    users: [{ name: 'it', user: { token: 't' } }],
    contexts: [{ name: 'it', context: { cluster: 'it', user: 'it' } }],
  });
  const publish = (name: string) =>
    client.apply(Secret, { metadata: { namespace, name, labels: label }, data: { kubeconfig: toBase64(kubeconfig) } });
  const withdraw = (name: string) => client.remove(Secret, { namespace, name });
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
  const empty = store.dump();
  for (const name of six) await publish(name);

  const clock = new ManualClock();
  let failures = 0;
  const count = ({ reflector }: { reflector?: unknown }) => {
    if (reflector === 'inventory of the fleet') failures += 1;
  };
  const log: Log = { ...noLog, debug: count, warn: count };
  const namespaces = new FleetCache(Namespace, { maxObjects: 100 });
  const fleet = new Fleet({ clock, log: noLog, openClient: open, caches: [namespaces], consumers: [] });
  const end = new AbortController();
  const followed = followSecrets(fleet, { client, namespace, removalGuard, clock, log, signal: end.signal });
  await eventually('all are engaged', () => fleet.names().length === six.length);
  const first = six.map((name) => fleet.get(name));

  /** Lets time pass in steps in which the inventory may be asked. */
  const passUntil = (what: string, isSo: () => boolean) =>
    eventually(what, async () => {
      await clock.advance(1000);
      return isSo();
    });
  /** Lets the inventory be asked in vain. */
  const failTimes = (times: number) => {
    const before = failures;
    return passUntil(`it fails ${times} times`, () => failures - before >= times);
  };
  return {
    ...{ fleet, clock, memberClient, namespaces, publish, withdraw, passUntil, failTimes, empty },
    outage: () => hub.close(),
    /** Ends an outage, perhaps with what another "etcd" had. */
    comeBack: async (content?: StoreContent) => {
      if (content) store.load(content);
      await hub.reopen();
    },
    dump: () => store.dump(),
    /** Whether the clusters that were engaged first are engaged still, without a break. */
    expectAllKept: () => {
      expect(six.map((name) => fleet.get(name))).toEqual(first);
      expect(first.filter(({ signal }) => signal.aborted)).toEqual([]);
    },
    reasons: () => fleet.history().map(({ reason }) => reason),
    close: async () => {
      end.abort();
      await followed;
      await fleet.stop();
      await Promise.all([client.close(), memberClient.close(), hub.close(), member.close()]);
    },
  };
}

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');

describe('F6: an inventory', () => {
  let started: Awaited<ReturnType<typeof startFleet>> | undefined;
  afterEach(async () => await started?.close());
  const start = async (removalGuard?: RemovalGuardOptions) => {
    started = await startFleet(removalGuard);
    return started;
  };

  it('that cannot be read keeps all clusters, which go on, and is followed when it is back', async () => {
    const { fleet, clock, memberClient, namespaces, publish, failTimes, passUntil, ...hub } = await start();
    await hub.outage();
    await failTimes(5);
    await clock.advance(600_000);
    await memberClient.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'new' } });
    await eventually('every cluster is still watched', () =>
      six.every((name) => namespaces.of(fleet.get(name)).get({ name: 'new' }) !== undefined),
    );
    hub.expectAllKept();
    await hub.comeBack();
    await publish('g');
    await passUntil('the seventh is engaged', () => fleet.names().includes('g'));
    hub.expectAllKept();
    expect(hub.reasons()).not.toContain('list-uncertain');
  });

  it('that is suddenly empty, and then complete again, has lost nobody', async () => {
    const { fleet, clock, publish, failTimes, passUntil, ...hub } = await start({ confirmSeconds: 3600 });
    await hub.outage();
    await failTimes(3);
    const complete = hub.dump();
    await hub.comeBack(hub.empty);
    await passUntil('the list is uncertain', () => hub.reasons().includes('list-uncertain'));
    await failTimes(3);
    hub.expectAllKept();
    await hub.outage();
    await hub.comeBack(complete);
    await publish('g');
    await passUntil('the seventh is engaged', () => fleet.names().includes('g'));
    await clock.advance(3_700_000);
    hub.expectAllKept();
    expect(hub.reasons().filter((reason) => reason === 'list-uncertain')).toHaveLength(1);
    expect(hub.reasons()).not.toContain('removed');
  });

  it('that still lacks nearly all of them after a minute is believed', async () => {
    const { fleet, clock, publish, failTimes, passUntil, ...hub } = await start();
    await hub.outage();
    await failTimes(3);
    await hub.comeBack(hub.empty);
    await publish('g');
    await passUntil('the list is uncertain', () => hub.reasons().includes('list-uncertain'));
    const since = clock.monotonic();
    const { signal } = fleet.get('a');
    // Nothing else of the inventory is followed meanwhile.
    hub.expectAllKept();
    expect(fleet.names()).not.toContain('g');
    await passUntil('they are gone', () => fleet.names().join() === 'g');
    expect(clock.monotonic() - since).toBeGreaterThanOrEqual(60_000);
    expect(signal.aborted).toBe(true);
    expect(fleet.history('a').at(-1)).toMatchObject({ state: 'gone', reason: 'removed' });
  });

  it('that loses some of them, or all of them one by one while it is watched, is believed at once', async () => {
    const { fleet, clock, withdraw, failTimes, passUntil, ...hub } = await start();
    await hub.outage();
    await failTimes(3);
    await hub.comeBack();
    await withdraw('a');
    await passUntil('the list is followed', () => !fleet.names().includes('a'));
    const since = clock.monotonic();
    for (const name of six.slice(1)) await withdraw(name);
    await eventually('none is left', () => fleet.names().length === 0);
    expect(clock.monotonic()).toBe(since);
    expect(hub.reasons()).not.toContain('list-uncertain');
  });
});
