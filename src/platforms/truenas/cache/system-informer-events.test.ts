import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { type ScriptedReply, tenSecondSignal, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';
import type { Log } from '../../../lib/log.ts';
import { TrueNasClient } from '../api/client.ts';
import { SystemInformer } from './system-informer.ts';

const at = useScriptedNas();
const reply = (method: string): ScriptedReply => ({ result: method === 'vm.query' ? [] : null });
beforeEach(() => {
  at.server.script = reply;
});

const send = (msg: string, collection: string, id: unknown, more: object = {}) => {
  const params = { msg, collection, id, ...more };
  for (const socket of at.server.sockets) {
    socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'collection_update', params }));
  }
};
/** Resolves after everything that was sent before has arrived. */
const arrived = () => at.read('core.ping');
const subscriptions = () => at.server.named('core.subscribe').map(({ params }) => params[0]);
const all = ['vm.query', 'vm.device.query', 'pool.dataset.query'];

/** Counts notifications, on a subscribed connection without pending ones. */
async function listening(nas = at.nas) {
  let times = 0;
  const stop = SystemInformer.of(nas).listen(() => {
    times += 1;
  });
  await nas.read('system.info', [], z.unknown(), { signal: tenSecondSignal() });
  await waitForCondition(() => subscriptions().length >= all.length, 'it is subscribed');
  await waitForCondition(() => at.clock.sleeping > 2, 'the first word is due');
  await at.clock.advance(15_000);
  expect(times).toBe(1);
  return { stop, told: () => times - 1 };
}

/** True when what is known of the VMs is read again. Takes 25 ms then. */
async function readsAgain(): Promise<boolean> {
  const before = at.server.named('vm.query').length;
  let isRead = false;
  const names = { uuid: 'none', vmName: 'none' };
  const answer = SystemInformer.of(at.nas).vms.named(names, {}, tenSecondSignal());
  const reading = answer.then(() => {
    isRead = true;
  });
  await at.clock.settle();
  if (!isRead) await at.clock.advance(25);
  await reading;
  return at.server.named('vm.query').length > before;
}

describe('changes by other clients', () => {
  it('T9: are subscribed to once for each connection, and only with a listener', async () => {
    await at.read();
    expect(subscriptions()).toEqual([]);
    const { stop } = await listening();
    SystemInformer.of(at.nas).listen(() => {});
    stop();
    await arrived();
    expect(subscriptions()).toEqual(all);
  });

  it('T9: put what is known in doubt at once, and are reported together a second later', async () => {
    const { told: reported } = await listening();
    expect([await readsAgain(), await readsAgain()]).toEqual([true, false]);
    send('changed', 'vm.query', 5);
    send('removed', 'vm.device.query', 7);
    send('removed', 'pool.dataset.query', 'tank/talos/vms/first');
    await arrived();
    expect([reported(), await readsAgain()]).toEqual([0, true]);
    await at.clock.advance(999 - 25);
    expect(reported()).toBe(0);
    await at.clock.advance(1);
    expect(reported()).toBe(1);
    await at.clock.advance(60_000);
    expect(reported()).toBe(1);
  });

  it('T9: are reported every ten seconds at most, however many there are', async () => {
    const { told: reported } = await listening();
    for (let second = 0; second < 60; second += 1) {
      send('changed', 'vm.query', second);
      await arrived();
      await at.clock.advance(1000);
    }
    expect(reported()).toBe(6);
  });

  it.each([
    ['what is new', 'added', 'vm.query', 5],
    ['a snapshot that is gone, which is told as a dataset', 'removed', 'pool.dataset.query', 'tank/a@auto-1'],
    ['what nobody asked for', 'changed', 'alert.list', 1],
  ])('are ignored: %s', async (_, msg, collection, id) => {
    const { told: reported } = await listening();
    await readsAgain();
    send(msg, collection, id);
    await arrived();
    await at.clock.advance(40_000);
    expect([reported(), await readsAgain()]).toEqual([0, false]);
  });

  it('T9: our own changes are ignored during the call and five seconds after it', async () => {
    const { told: reported } = await listening();
    at.server.script = (method, params) => {
      if (method === 'vm.start') send('changed', 'vm.query', params[0]);
      return reply(method);
    };
    await at.nas.change('vm.start', [5], z.unknown(), { signal: tenSecondSignal() });
    await readsAgain();
    send('changed', 'vm.query', 5, { fields: { id: 5 } });
    await arrived();
    await at.clock.advance(5000);
    expect([reported(), await readsAgain()]).toEqual([0, false]);
    send('changed', 'vm.query', 6);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
    send('changed', 'vm.query', 5);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(2);
  });

  it('T9: a shutdown that we requested is ignored for as long as it may take', async () => {
    const { told: reported } = await listening();
    await at.nas.change('vm.stop', [5], z.unknown(), { signal: tenSecondSignal() });
    await at.clock.advance(100_000);
    send('changed', 'vm.query', 5);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(0);
    await at.clock.advance(5001);
    send('changed', 'vm.query', 5);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
  });

  it('put what is known in doubt, as do the end of a connection and a new one, while our own changes do not', async () => {
    await listening();
    await readsAgain();
    await at.nas.change('vm.start', [5], z.unknown(), { signal: tenSecondSignal() });
    send('changed', 'vm.query', 5);
    await arrived();
    expect(await readsAgain()).toBe(false);
    send('removed', 'vm.device.query', 7);
    await arrived();
    expect([await readsAgain(), await readsAgain()]).toEqual([true, false]);
    const { rpc } = await at.nas.session(tenSecondSignal());
    rpc.close();
    await rpc.closed;
    // The first read opens the connection, whose subscription is complete after it.
    expect(await readsAgain()).toBe(true);
    await waitForCondition(() => subscriptions().length === 2 * all.length, 'it is subscribed again');
    await arrived();
    expect([await readsAgain(), await readsAgain()]).toEqual([true, false]);
  });

  it.each([
    ['the devices of a machine that we delete', 'vm.delete', 5, 'vm.device.query', 77],
    [
      'what lies below a dataset that we delete',
      'pool.dataset.delete',
      'tank/vms/a',
      'pool.dataset.query',
      'tank/vms/a/boot',
    ],
  ])('T9: are ignored: %s', async (_, method, about, collection, id) => {
    const { told: reported } = await listening();
    await at.nas.change(method, [about], z.unknown(), { signal: tenSecondSignal() });
    send('removed', collection, id);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(0);
    send('removed', collection, id);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
  });

  it.each([
    ['beside a dataset that we delete', 'pool.dataset.delete', 'tank/vms/a', 'tank/vms/ab'],
    ['below a dataset that we change', 'pool.dataset.update', 'tank/vms/a', 'tank/vms/a/boot'],
    ['above a dataset that we delete', 'pool.dataset.delete', 'tank/vms/a', 'tank/vms'],
  ])('T9: are reported when another client removes a dataset %s', async (_, method, about, id) => {
    const { told: reported } = await listening();
    await at.nas.change(method, [about], z.unknown(), { signal: tenSecondSignal() });
    send('removed', 'pool.dataset.query', id);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
  });

  it('T9: may be missed without a connection, so its loss and a new connection count as changes, and the new one subscribes again', async () => {
    const { told: reported } = await listening();
    await readsAgain();
    const { rpc } = await at.nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.terminate();
    await rpc.closed;
    await at.clock.advance(20_000);
    expect(reported()).toBe(1);
    await at.read();
    await waitForCondition(() => subscriptions().length === 2 * all.length, 'it is subscribed again');
    await arrived();
    await at.clock.advance(15_000);
    expect([reported(), await readsAgain()]).toEqual([2, true]);
    send('changed', 'vm.query', 5);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(3);
  });

  it('are not reported to a removed listener', async () => {
    const { stop, told: reported } = await listening();
    send('changed', 'vm.query', 5);
    await arrived();
    stop();
    await at.clock.advance(15_000);
    expect(reported()).toBe(0);
  });

  it('are not relied on once the system has ended a subscription, which is renewed a minute later', async () => {
    const { told: reported } = await listening();
    await readsAgain();
    for (const socket of at.server.sockets) {
      const params = { collection: 'vm.query', error: null };
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notify_unsubscribed', params }));
    }
    await arrived();
    expect(await readsAgain()).toBe(true);
    await at.clock.advance(16_000);
    expect([await readsAgain(), reported()]).toEqual([true, 0]);
    for (let seconds = 16; seconds <= 60; seconds += 11) {
      await arrived();
      await at.clock.advance(11_000);
    }
    await waitForCondition(() => subscriptions().length > all.length, 'it is subscribed again');
    expect(subscriptions().slice(all.length)).toEqual(['vm.query']);
    await arrived();
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
  });

  it('T62: are reported where the user may subscribe, and other collections are logged once', async () => {
    const lines: object[] = [];
    const emit = (fields: object) => lines.push(fields);
    const log: Log = { debug: () => {}, info: emit, warn: emit, error: emit, child: () => log };
    const error = {
      code: -32001,
      message: 'Method call error',
      data: { error: 13, reason: '[EACCES] Not authorized' },
    };
    at.server.script = (method, [name]) =>
      method === 'core.subscribe' && name === 'vm.device.query' ? { error } : reply(method);
    const nas = new TrueNasClient({ ...at.nas.options, log });
    const { told: reported } = await listening(nas);
    send('changed', 'vm.query', 5);
    await nas.read('core.ping', [], z.unknown(), { signal: tenSecondSignal() });
    await at.clock.advance(15_000);
    expect(reported()).toBe(1);
    const { rpc } = await nas.session(tenSecondSignal());
    for (const socket of at.server.sockets) socket.terminate();
    await rpc.closed;
    await nas.read('system.info', [], z.unknown(), { signal: tenSecondSignal() });
    await waitForCondition(() => subscriptions().length === 2 * all.length - 1, 'it is subscribed again');
    expect(subscriptions().slice(all.length)).toEqual(['vm.query', 'pool.dataset.query']);
    expect(lines).toEqual([{ host: nas.host, collection: 'vm.device.query' }]);
    await nas.close();
  });

  it('are subscribed to a minute later when the subscription failed', async () => {
    const error = { code: -32001, message: 'Method call error', data: { error: 14, reason: '[EFAULT] not now' } };
    let isBroken = true;
    at.server.script = (method) => (method === 'core.subscribe' && isBroken ? { error } : reply(method));
    let times = 0;
    SystemInformer.of(at.nas).listen(() => {
      times += 1;
    });
    await at.read();
    await waitForCondition(() => subscriptions().length === 1, 'it was tried');
    await arrived();
    isBroken = false;
    // Sleeps of the connection: until its next ping, and until it is idle.
    await waitForCondition(() => at.clock.sleeping === 3, 'the next attempt is due');
    await at.clock.advance(20_000);
    await arrived();
    await at.clock.advance(20_000);
    await arrived();
    await at.clock.advance(19_999);
    expect(subscriptions()).toHaveLength(1);
    await arrived();
    await at.clock.advance(1);
    await waitForCondition(() => subscriptions().length === 1 + all.length, 'it is tried again');
    await waitForCondition(() => at.clock.sleeping === 3, 'the word is due');
    await at.clock.advance(1000);
    expect(times).toBe(1);
  });
});
