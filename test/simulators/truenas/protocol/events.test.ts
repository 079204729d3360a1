import { describe, expect, test } from 'vitest';
import { openTrueNas } from '../testing/open-true-nas.ts';
import { waitUntilHolds } from '../testing/true-nas-fixture.ts';

interface Event {
  readonly msg: string;
  readonly collection: string;
  readonly id: unknown;
  readonly fields?: Readonly<Record<string, unknown>> & { readonly status?: { readonly state: string } };
  readonly extra?: { readonly state: string };
}

/** A subscriber; `heard` returns a short form of each event. */
async function subscribe(version: string, ...collections: string[]) {
  const nas = await openTrueNas({ version });
  const listener = await nas.nas.login();
  for (const name of collections) await listener.call('core.subscribe', name);
  const events = (): Event[] =>
    listener.messages.flatMap(({ method, params }) => (method === 'collection_update' ? [params as Event] : []));
  const heard = async (count: number) => {
    await waitUntilHolds(() => events().length >= count, `${count} events are heard`);
    return events().map(({ msg, collection, id, fields, extra }) =>
      [collection.split('.').at(-2), id, msg, fields?.status?.state ?? '-', extra?.state ?? '-'].join(' '),
    );
  };
  return { ...nas, listener, events, heard };
}

describe.each(['25.04.2', '25.10', '26'])('events of machines on %s', (version) => {
  const open = async () => {
    const nas = await subscribe(version);
    const id = await nas.vm({});
    for (const name of ['vm.query', 'vm.device.query']) await nas.listener.call('core.subscribe', name);
    return { ...nas, id };
  };

  test('a change by a call sends the entry, in 25.04 only its number', async () => {
    const { client, id, events, heard } = await open();
    await client.call('vm.update', id, { description: 'mine' });
    const card = await client.call('vm.device.create', { vm: id, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    await client.call('vm.device.delete', card.id, {});
    const isOld = version === '25.04.2';
    const state = isOld ? '-' : 'STOPPED';
    expect(await heard(3)).toEqual([`vm 1 changed ${state} -`, 'device 1 added - -', 'device 1 removed - -']);
    expect(events().map(({ fields }) => fields !== undefined)).toEqual([!isOld, !isOld, false]);
  });

  test("a state change of a guest is sent in libvirt's words, in 26 with its entry", async () => {
    const { nas, client, id, events, heard } = await open();
    await client.call('vm.start', id);
    await nas.simulator.powerOff('a');
    const is26 = version === '26';
    const old = ['changed UPDATING CONFIGURATION RUNNING', 'added SHUTOFF NOSTATE', 'changed RUNNING BLOCKED'];
    const words = is26
      ? ['changed STOPPED -', 'changed RUNNING -', 'changed STOPPED -']
      : [...old, 'changed SHUTOFF SHUTOFF'];
    expect(await heard(words.length)).toEqual(words.map((word) => `vm 1 ${word}`));
    expect(events().every(({ fields }) => (fields !== undefined && 'devices' in fields) === is26)).toBe(true);
  });

  test('the devices of a deleted machine are removed before it, each with an event of its own', async () => {
    const { client, id, heard } = await open();
    await client.call('vm.device.create', { vm: id, attributes: { dtype: 'NIC', nic_attach: 'br0' } });
    const before = (await heard(1)).length;
    await client.call('vm.delete', id, { zvols: false, force: false });
    const undefined25 = version === '26' ? [] : ['vm 1 changed UPDATING CONFIGURATION RUNNING'];
    const wanted = [...undefined25, 'device 1 removed - -', 'vm 1 removed - -'];
    expect((await heard(before + wanted.length)).slice(before)).toEqual(wanted);
  });
});

test('a change of a dataset sends the whole entry, and only the id of a deleted one', async () => {
  const { client, events, heard } = await subscribe('25.10', 'pool.dataset.query');
  await client.call('pool.dataset.create', { name: 'tank/x' });
  await client.call('pool.dataset.update', 'tank/x', { comments: 'hello' });
  await client.call('pool.dataset.delete', 'tank/x');
  expect(await heard(3)).toEqual(['added', 'changed', 'removed'].map((msg) => `dataset tank/x ${msg} - -`));
  expect(events().map(({ fields }) => fields?.['type'])).toEqual(['FILESYSTEM', 'FILESYSTEM', undefined]);
});

test('the states of a job are sent; nothing is after unsubscribing', async () => {
  const { put, listener, events } = await subscribe('25.10', 'core.get_jobs');
  const id = await listener.call('core.subscribe', 'pool.dataset.query');
  await listener.call('core.unsubscribe', id);
  await listener.call('pool.dataset.create', { name: 'tank/x' });
  await put('/mnt/tank/x/file', 'x');
  const states = () => events().map(({ fields }) => fields?.['state']);
  await waitUntilHolds(() => states().includes('SUCCESS'), 'the end is heard');
  expect(states()).toEqual(expect.arrayContaining(['WAITING', 'RUNNING', 'SUCCESS']));
  expect(new Set(events().map(({ collection }) => collection))).toEqual(new Set(['core.get_jobs']));
});
