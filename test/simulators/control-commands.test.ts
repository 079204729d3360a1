import { describe, expect, test } from 'vitest';
import { executeCommand, parseFaultFile, planFault } from '../world/control-commands.ts';
import { CallInterceptor } from '../world/faults/call-interceptor.ts';

function commandTargets(...names: string[]) {
  const switchboard = new CallInterceptor();
  const restarts: string[] = [];
  const simulators = names.map((simulator) => ({
    line: { simulator, url: '', credentials: {}, ca: null },
    restart: async () => void restarts.push(simulator),
    close: async () => {},
  }));
  return { switchboard, simulators, restarts };
}

describe('a control command', () => {
  test('plans a fault of each kind, for the named simulator or for the only one', async () => {
    const one = commandTargets('truenas');
    await executeCommand('{"fail":"^vm\\\\.","with":"late","milliseconds":5,"skip":1}', one);
    await executeCommand('{"fail":"^core","with":"error","code":"EBUSY","body":"no","times":2}', one);
    await executeCommand('{"fail":"^pool","with":"silence","milliseconds":30000,"done":true}', one);
    const { switchboard } = one;
    await executeCommand('{"fail":"^upload","with":"cut","of":"request","bytes":70,"milliseconds":5}', one);
    expect(switchboard.pass('truenas', 'upload')).toEqual({ kind: 'cut', of: 'request', bytes: 70, milliseconds: 5 });
    expect(switchboard.pass('truenas', 'pool.query')).toEqual({ kind: 'silence', milliseconds: 30_000, done: true });
    const calls = ['vm.start', 'vm.stop', 'vm.query', 'core.ping', 'core.ping', 'core.ping'];
    expect(calls.map((name) => switchboard.pass('truenas', name))).toEqual([
      undefined,
      { kind: 'late', milliseconds: 5 },
      undefined,
      { kind: 'error', code: 'EBUSY', body: 'no' },
      { kind: 'error', code: 'EBUSY', body: 'no' },
      undefined,
    ]);
  });

  test('applies to the simulator that it names, and can be cleared', async () => {
    const both = commandTargets('kube', 'truenas');
    await executeCommand('{"simulator":"kube","fail":"","with":"drop","times":9}', both);
    expect(both.switchboard.pass('truenas', 'x')).toBeUndefined();
    expect(both.switchboard.pass('kube', 'x')).toEqual({ kind: 'drop' });
    await executeCommand('{"clear":true}', both);
    expect(both.switchboard.pass('kube', 'x')).toBeUndefined();
    await executeCommand('{"restart":"truenas"}', both);
    expect(both.restarts).toEqual(['truenas']);
  });

  test.each([
    ['nonsense', 'a JSON object is wanted'],
    ['5', 'a JSON object is wanted'],
    ['{"clear":"yes"}', 'clear'],
    ['{"restart":"robot"}', 'there is no simulator robot; there is kube, truenas'],
    ['{"fail":"x","with":"drop"}', 'say which simulator fails: kube, truenas'],
    ['{"simulator":"robot","fail":"x","with":"drop"}', 'there is no simulator robot; there is kube, truenas'],
    ['{"simulator":"kube","fail":"(","with":"drop"}', '( is not a regular expression'],
    ['{"simulator":"kube","fail":"x","with":"fire"}', 'with'],
    ['{"simulator":"kube","fail":"x","with":"drop","often":2}', 'often'],
  ])('is refused with a sentence when it is invalid: %s', async (line, sentence) => {
    await expect(executeCommand(line, commandTargets('kube', 'truenas'))).rejects.toThrow(sentence);
  });

  test('from a file is one entry of a list', () => {
    const { switchboard, simulators } = commandTargets('kube');
    for (const fault of parseFaultFile([{ fail: '^GET', with: 'error', status: 503 }]))
      planFault(fault, { switchboard, simulators });
    expect(switchboard.pass('kube', 'GET /version')).toEqual({ kind: 'error', status: 503 });
    expect(() => parseFaultFile({ fail: 'x' })).toThrow(/^--faults: .*expected array/);
  });
});
