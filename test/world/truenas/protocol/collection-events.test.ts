import { afterEach, describe, expect, test } from 'vitest';
import {
  type RawClient,
  startTrueNasFixture,
  type TrueNasFixture,
  waitUntilHolds,
} from '../testing/true-nas-fixture.ts';

let nas: TrueNasFixture;
afterEach(async () => {
  await nas.close();
});

interface Event {
  readonly msg: string;
  readonly collection: string;
  readonly id: unknown;
  readonly fields?: { readonly status?: { readonly state: string }; readonly devices?: unknown; readonly vm?: unknown };
  readonly extra?: { readonly state: string };
}

const collections = ['vm.query', 'vm.device.query'];

/** The two protocols: how a client subscribes, and how events are sent. */
const protocols: {
  path: string;
  subscribe: (client: RawClient) => Promise<void>;
  read: (client: RawClient) => Event[];
}[] = [
  {
    path: '/api/current',
    subscribe: async (client) => {
      for (const name of collections) await client.call('core.subscribe', name);
    },
    read: ({ messages }) =>
      messages.flatMap(({ method, params }) => (method === 'collection_update' ? [params as Event] : [])),
  },
  {
    path: '/websocket',
    subscribe: async (client) => {
      const { user: username, apiKey: api_key } = nas.room.line.credentials;
      const login = { mechanism: 'API_KEY_PLAIN', username, api_key };
      client.send({ msg: 'connect', version: '1', support: ['1'] });
      client.send({ msg: 'method', id: 'login', method: 'auth.login_ex', params: [login] });
      await waitUntilHolds(() => client.messages.some(({ id }) => id === 'login'), 'it is logged in');
      for (const name of collections) client.send({ msg: 'sub', id: name, name });
      await waitUntilHolds(() => client.messages.filter(({ msg }) => msg === 'ready').length === 2, 'it is subscribed');
    },
    read: ({ messages }) =>
      messages.filter(({ msg }) => ['added', 'changed', 'removed'].includes(String(msg))) as unknown as Event[],
  },
];

const versions = ['25.04.2', '25.10', '26'];
const cases = versions.flatMap((version) => protocols.map((door) => ({ version, ...door })));

describe.each(cases)('events of machines on $version at $path', ({ version, path, subscribe, read }) => {
  /** A machine with a NIC, and a subscriber. Returns a short form of each event. */
  async function open() {
    nas = await startTrueNasFixture({ version });
    const hand = await nas.login();
    const { id } = await hand.call('vm.create', { name: 'one', memory: 512 });
    const listener = path === '/websocket' ? await nas.connect(path) : await nas.login();
    await subscribe(listener);
    const events = () => read(listener);
    const heard = async (count: number) => {
      await waitUntilHolds(() => events().length >= count, `${count} events are heard`);
      return events().map(({ msg, collection, id: about, fields, extra }) =>
        [collection.split('.').at(-2), about, msg, fields?.status?.state ?? '-', extra?.state ?? '-'].join(' '),
      );
    };
    return { hand, id, events, heard };
  }

  test('a change by a call sends the entry, in 25.04 only its number', async () => {
    const { hand, id, events, heard } = await open();
    await hand.call('vm.update', id, { description: 'mine' });
    const card = await hand.call('vm.device.create', { vm: id, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    await hand.call('vm.device.delete', card.id, {});
    const state = version === '25.04.2' ? '-' : 'STOPPED';
    expect(await heard(3)).toEqual([`vm 1 changed ${state} -`, 'device 1 added - -', 'device 1 removed - -']);
    expect(events().map(({ fields }) => fields !== undefined)).toEqual(
      version === '25.04.2' ? [false, false, false] : [true, true, false],
    );
  });

  test("a state change of a guest is sent in libvirt's words, in 26 with its entry", async () => {
    const { hand, id, events, heard } = await open();
    await hand.call('vm.start', id);
    await nas.room.powerOff('one');
    const words =
      version === '26'
        ? ['changed STOPPED -', 'changed RUNNING -', 'changed STOPPED -']
        : [
            'changed UPDATING CONFIGURATION RUNNING',
            'added SHUTOFF NOSTATE',
            'changed RUNNING BLOCKED',
            'changed SHUTOFF SHUTOFF',
          ];
    expect(await heard(words.length)).toEqual(words.map((word) => `vm 1 ${word}`));
    expect(events().every(({ fields }) => (fields !== undefined && 'devices' in fields) === (version === '26'))).toBe(
      true,
    );
  });

  test('the devices of a deleted machine are removed before it, each with an event of its own', async () => {
    const { hand, id, heard } = await open();
    await hand.call('vm.device.create', { vm: id, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    const before = (await heard(1)).length;
    await hand.call('vm.delete', id, { zvols: false, force: false });
    const undefined25 = version === '26' ? [] : ['vm 1 changed UPDATING CONFIGURATION RUNNING'];
    const wanted = [...undefined25, 'device 1 removed - -', 'vm 1 removed - -'];
    expect((await heard(before + wanted.length)).slice(before)).toEqual(wanted);
  });
});
