import { describe, expect, it, vi } from 'vitest';
import {
  errorCodeOf,
  type ScriptedReply,
  tenSecondSignal,
  useScriptedNas,
} from '../../../../test/support/harness/scripted-nas.ts';

const at = useScriptedNas();
const ask = () => at.nas.readLater('vm.query', [], { signal: tenSecondSignal() });
const emit = (...replies: ScriptedReply[]) => {
  at.server.script = (method) => (method === 'vm.query' ? (replies.shift() ?? 'silence') : { result: null });
};
const machines = { result: [{ id: 1, name: 'one', description: 'a "result": in , words' }] };

describe.each([
  { idLast: true, order: 'as TrueNAS writes them' },
  { idLast: false, order: 'in another order' },
])('unparsed answers, $order', ({ idLast }) => {
  it('are compared by hash, whatever the id of the call, and can be parsed', async () => {
    at.server.idLast = idLast;
    emit(machines, machines, { result: [] });
    const [first, second, third] = [await ask(), await ask(), await ask()];
    expect(first.hash).toBe(second.hash);
    expect(third.hash).not.toBe(first.hash);
    expect([first.read(), third.read()]).toEqual([machines.result, []]);
  });

  it('are refusals when the call is refused', async () => {
    at.server.idLast = idLast;
    const data = { error: 13, errname: 'EACCES', reason: 'Not authorized', extra: null, trace: null };
    emit({ error: { code: -32001, message: 'Method call error', data } });
    expect(await errorCodeOf(ask())).toBe('TRUENAS_ROLE_MISSING');
  });

  it('are requested once more when the connection breaks before', async () => {
    at.server.idLast = idLast;
    emit('hang-up', machines);
    expect((await ask()).read()).toEqual(machines.result);
  });
});

it("a large answer in TrueNAS's format is not parsed before it is read", async () => {
  at.server.idLast = true;
  const large = { result: Array.from({ length: 1000 }, (_, id) => ({ id, name: `n${id}` })) };
  emit(large);
  // Only the client parses that much here.
  const parse = vi.spyOn(JSON, 'parse');
  try {
    const answer = await ask();
    const isLarge = ([text]: readonly unknown[]) => String(text).length > 10_000;
    expect(parse.mock.calls.filter(isLarge)).toEqual([]);
    expect(answer.read()).toEqual(large.result);
    expect(parse.mock.calls.filter(isLarge)).toHaveLength(1);
  } finally {
    parse.mockRestore();
  }
});
