import { Agent, request } from 'undici';
import { afterAll, expect, it } from 'vitest';
import type { ClusterJson, FleetJson, MachineJson } from '../../../src/status/api-types.ts';
import { ServerEventReader } from '../../../src/status/page/event-stream.ts';
import { eventually } from '../../support/eventually.ts';
import { collectSecrets, encodingsOf } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

/** The program itself with a cluster from nothing to ready: what its status page has, and what it does not have. */
const address = { host: '127.43.41.1', port: 18_082 };
const open = startTestbed({ subnet: '127.43.42', provider: { statusPage: { address } } });
const agent = new Agent();
afterAll(async () => await agent.close());

const base = `http://${address.host}:${address.port}`;
const ref = { namespace: 'shop', name: 'main' };
const token = { permissions: [{ rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }] }] };

/** Every answer of the API so far. */
const answers: string[] = [];

async function get<T>(path: string): Promise<T> {
  const { body, statusCode } = await request(`${base}/api/v1/${path}`, { dispatcher: agent });
  const text = await body.text();
  expect([path, statusCode]).toEqual([path, 200]);
  answers.push(text);
  return JSON.parse(text) as T;
}

/** The states that a viewer of the cluster was sent, until it was ready. */
const streamed: ClusterJson[] = [];

async function followUntilReady(): Promise<void> {
  const { body } = await request(`${base}/api/v1/events?view=clusters/${ref.namespace}/${ref.name}`, {
    dispatcher: agent,
  });
  const reader = new ServerEventReader();
  for await (const piece of body.setEncoding('utf8')) {
    for (const { event, data } of reader.push(String(piece))) {
      answers.push(data);
      if (event !== 'message') continue;
      const state = JSON.parse(data) as ClusterJson;
      streamed.push(state);
      if (state.health === 'ready' && state.access.first.every(({ phase }) => phase === 'Granted')) return;
    }
  }
}

prepareTestbed(open, async ({ objects }) => {
  await objects.credentials();
  await objects.config('home');
  await objects.cluster(ref);
  await objects.request(ref, { clusterRef: ref, token });
  const isKnown = async (): Promise<boolean> => (await get<FleetJson>('fleet')).clusters.total === 1;
  await eventually('the page has the Cluster', isKnown);
  await followUntilReady();
});

it('a viewer has followed the cluster from its creation to ready, step by step', () => {
  expect(streamed.length).toBeGreaterThan(2);
  const current = streamed.flatMap(({ machineList }) => machineList.flatMap((machine) => machine.current ?? []));
  const names = new Set(current.map(({ steps }) => steps.find(({ state }) => state === 'current')?.name));
  expect(names.size).toBeGreaterThan(1);
  expect(streamed.at(-1)).toMatchObject({ health: 'ready', config: 'home', platform: 'truenas' });
});

it('a machine has start, end and tries of every step, and its console', async () => {
  const [machine] = streamed.at(-1)?.machineList ?? [];
  const shown = await get<MachineJson>(`machines/${machine?.name}`);
  const [plan] = shown.plans;
  expect(plan).toMatchObject({ plan: 'provision', finishedAt: expect.any(String) });
  const unseen = plan?.steps.filter(({ startedAt, endedAt, tries }) => !startedAt || !endedAt || !tries);
  expect(unseen).toEqual([]);
  expect(shown.consoles[0]?.url).toMatch(/^https:\/\/.*\/ui\/vm\/\d+\/serial$/);
});

it('the cluster has its access, Events and conditions', async () => {
  const read = async (): Promise<ClusterJson> => await get<ClusterJson>(`clusters/${ref.namespace}/${ref.name}`);
  // Events are read again after ten seconds.
  const hasEvent = async (): Promise<boolean> => (await read()).events.some(({ reason }) => reason === 'Ready');
  await eventually('the Event is shown', hasEvent);
  const shown = await read();
  expect(shown.access.first).toMatchObject([{ kind: 'token', phase: 'Granted' }]);
  expect(shown.conditions.every(({ status }) => status === 'True')).toBe(true);
});

it('the fleet has the memory and the pools of the system, and the free addresses', async () => {
  const measured = async (): Promise<boolean> => {
    const { systems, addressPools } = await get<FleetJson>('fleet');
    return (systems[0]?.volumes.length ?? 0) > 0 && addressPools[0]?.free !== undefined;
  };
  await eventually('the system was read', measured);
  const { systems, addressPools, isLeader, isComplete } = await get<FleetJson>('fleet');
  expect([isLeader, isComplete]).toEqual([true, true]);
  expect(systems[0]?.memory?.availableBytes).toBeGreaterThan(0);
  const [pool] = addressPools;
  expect(pool?.free).toBeLessThan(pool?.total ?? 0);
});

it('serves the page itself', async () => {
  const { body, headers } = await request(`${base}/`, { dispatcher: agent });
  const html = await body.text();
  const [script = ''] = /assets\/main-[A-Z0-9]+\.js/.exec(html) ?? [];
  expect(headers['content-security-policy']).toContain("script-src 'self'");
  expect((await request(`${base}/${script}`, { dispatcher: agent })).statusCode).toBe(200);
});

it('no answer has a secret, raw or encoded', () => {
  const all = answers.join('\n');
  const needles = collectSecrets(open()).flatMap(({ what, text }) => encodingsOf(text).map((form) => ({ what, form })));
  expect(needles.length).toBeGreaterThan(20);
  expect(needles.filter(({ form }) => all.includes(form)).map(({ what }) => what)).toEqual([]);
  expect(all).not.toMatch(/PRIVATE KEY|LS0tLS1CRUdJTi|eyJhbGciOi|kubeconfig/);
});
