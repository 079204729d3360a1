import { describe, expect, it, vi } from 'vitest';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { errorCodeOf, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';
import { SystemInformer } from '../cache/system-informer.ts';
import { parseFault, toTrueNasError } from '../errors.ts';
import { receiveLimits } from './receive-limits.ts';

const at = useScriptedNas();
const report = (text: string) => {
  for (const socket of at.server.sockets) socket.send(text);
};
const news = (fields: object, id: unknown = 1) =>
  JSON.stringify({ method: 'collection_update', params: { msg: 'changed', collection: 'vm.query', id, fields } });

describe('messages of a system', () => {
  it('break the connection when they are longer than any answer, or in too many fragments', async () => {
    await at.read();
    const [socket] = at.server.sockets;
    const closed = new Promise((resolve) => socket?.once('close', resolve));
    for (let i = 0; i < receiveLimits.fragments + 10; i += 1) socket?.send('x', { fin: false });
    expect(await closed).toBe(1008);
    expect(await at.read()).toBeDefined();
  });

  it('that are long notifications are not parsed', async () => {
    await at.read();
    const parse = vi.spyOn(JSON, 'parse');
    try {
      report(news({ text: 'x'.repeat(receiveLimits.newsBytes) }));
      const received = vi.spyOn(at.nas.jobs, 'receive');
      report(news({ text: 'short' }));
      await waitForCondition(() => received.mock.calls.length > 0, 'what comes then is heard');
      expect(received).toHaveBeenCalledTimes(1);
      expect(parse.mock.calls.filter(([text]) => String(text).length > receiveLimits.newsBytes)).toEqual([]);
    } finally {
      parse.mockRestore();
    }
  });

  it('that are too many notifications are read later, and calls are answered meanwhile', async () => {
    await at.read();
    const received = vi.spyOn(at.nas.jobs, 'receive');
    const text = news({});
    const count = receiveLimits.messages.burst + 2000;
    for (let i = 0; i < count; i += 1) report(text);
    await waitForCondition(
      () => received.mock.calls.length >= receiveLimits.messages.burst - 10,
      'as much is read as may be at once',
    );
    const asked = at.read();
    await at.clock.settle();
    expect(received.mock.calls.length).toBeLessThan(count);
    await waitForCondition(() => {
      void at.clock.advance(1000);
      return received.mock.calls.length === count;
    }, 'all of it is read in the end');
    expect(await asked).toBeDefined();
  });

  it('about an object with an endless name count as a change, and the name is dropped', async () => {
    let times = 0;
    const stop = SystemInformer.of(at.nas).listen(() => {
      times += 1;
    });
    await at.read();
    await waitForCondition(() => at.server.named('core.subscribe').length >= 3, 'it is subscribed');
    await at.clock.advance(15_000);
    const before = times;
    const split = vi.spyOn(String.prototype, 'matchAll');
    report(
      JSON.stringify({
        method: 'collection_update',
        params: { msg: 'removed', collection: 'pool.dataset.query', id: '/'.repeat(100_000) },
      }),
    );
    await at.read();
    await at.clock.advance(15_000);
    expect(times).toBeGreaterThan(before);
    expect(split.mock.contexts.filter((one) => String(one).length > 10_000)).toEqual([]);
    split.mockRestore();
    stop();
  });

  it('that are refusals are cut to a readable length', async () => {
    const extra = Array.from({ length: 1000 }, (_, i) => [`a${i}`, 'x'.repeat(10_000), 22]);
    const fault = parseFault({ code: -32602, message: 'm'.repeat(1e6), data: { reason: 'r'.repeat(1e6), extra } });
    expect(fault.message).toHaveLength(receiveLimits.reasonCharacters);
    expect(fault.validationErrors).toHaveLength(receiveLimits.validationErrors);
    expect(fault.validationErrors[0]?.message).toHaveLength(receiveLimits.reasonCharacters);
    expect(await errorCodeOf(Promise.reject(toTrueNasError(fault, 'vm.create')))).toBe('TRUENAS_REFUSED');
  });
});
