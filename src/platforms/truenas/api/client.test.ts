import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { waitForCondition } from '../../../../test/support/harness/scripted-http-server.ts';
import { errorCodeOf, tenSecondSignal, useScriptedNas } from '../../../../test/support/harness/scripted-nas.ts';

const at = useScriptedNas();

describe('a call', () => {
  it('that only reads is retried once when the connection broke', async () => {
    let times = 0;
    at.server.script = () => {
      times += 1;
      return times === 1 ? 'hang-up' : { result: 'here' };
    };
    expect(await at.read()).toBe('here');
    expect(at.server.connections).toBe(2);
  });

  it('T5, G10, S52: that changes something is never retried: the caller reads the outcome', async () => {
    at.server.script = () => 'hang-up';
    expect(await errorCodeOf(at.change())).toBe('TRUENAS_OUTCOME_UNKNOWN');
    expect(at.server.named('vm.create')).toHaveLength(1);
  });

  it('S26: fails with all pending calls when the connection ends, instead of waiting for ever', async () => {
    at.server.script = (method) => (method === 'vm.start' ? 'silence' : 'hang-up');
    const pending = [at.change('vm.start'), at.change('vm.start')].map(errorCodeOf);
    await waitForCondition(() => at.server.named('vm.start').length === 2, 'both calls are in hand');
    expect(await Promise.all([...pending, errorCodeOf(at.change('vm.stop'))])).toEqual(
      Array(3).fill('TRUENAS_OUTCOME_UNKNOWN'),
    );
  });

  it('logs in again after the session expired, since nothing was done then', async () => {
    const ended = {
      code: -32001,
      message: 'Method call error',
      data: { error: 13, reason: '[EACCES] Session is expired' },
    };
    let times = 0;
    at.server.script = () => {
      times += 1;
      return times === 1 ? { error: ended } : { result: true };
    };
    expect(await at.change()).toBe(true);
    expect(at.server.named('auth.login_ex')).toHaveLength(2);
  });

  it('has a timeout that does not affect other calls', async () => {
    at.server.script = (method) => (method === 'slow' ? 'silence' : { result: 1 });
    expect(await errorCodeOf(at.read('slow', 0.05))).toBe('DEADLINE_EXCEEDED');
    expect(await at.read()).toBe(1);
    expect(at.server.connections).toBe(1);
  });

  it('ends with the reason of the signal, so that a shutdown is no failure', async () => {
    at.server.script = () => 'silence';
    const stop = new AbortController();
    const reason = new Error('shutting down');
    const call = at.nas.read('slow', [], z.unknown(), { signal: stop.signal });
    const caught = call.catch((error: unknown) => error);
    await waitForCondition(() => at.server.named('slow').length === 1, 'the call is in hand');
    stop.abort(reason);
    expect(await caught).toBe(reason);
  });

  it('reports an invalid reply, with the field and without the value', async () => {
    at.server.script = () => ({ result: { id: 'secret-value' } });
    const schema = z.object({ id: z.number() });
    const error = await at.nas
      .read('vm.query', [], schema, { signal: tenSecondSignal() })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'TRUENAS_REPLY_UNKNOWN' });
    expect(String(error)).toMatch(/vm\.query: id:/);
    expect(String(error)).not.toContain('secret-value');
  });

  it("S42: above TrueNAS's length limit is not sent, because the connection would be closed", async () => {
    await expect(
      at.nas.change('vm.create', ['x'.repeat(65536)], z.unknown(), { signal: tenSecondSignal() }),
    ).rejects.toThrow(/exceed the message size limit of TrueNAS/);
    await at.read();
    expect(at.server.connections).toBe(1);
  });
});
