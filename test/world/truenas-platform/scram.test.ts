import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/lib/secret.ts';
import { check, credentials, type Durable, Process, room, shape, start, useScene, vmOf } from './scene.ts';

useScene();

const scram = { login: 'Scram' };
const machine = 'shop-cp-0';
const called = (wanted: string) => room.switchboard.calls.filter(({ name }) => name === wanted).length;

describe('with SCRAM', () => {
  it('T2: a machine is made and taken down on 26, and each upload has a token for once in place of the key', async () => {
    await start({ version: '26' });
    expect(await check(new Process(), scram)).toEqual([]);
    const empty = shape();
    const durable: Durable = { progress: undefined };
    const process = new Process();
    expect(await process.walk('provision', machine, durable, scram)).toMatchObject({ kind: 'finished' });
    expect(vmOf(machine)?.guest).toBeDefined();
    // The image and the seed.
    expect([called('POST /_upload'), called('auth.generate_token')]).toEqual([2, 2]);
    expect([...room.room.nas.tokens.values()].filter(({ attributes }) => Object.keys(attributes).length === 0)).toEqual(
      [],
    );
    await process.walk('release', machine, { progress: { ...durable.progress!, step: '' } }, scram);
    expect(shape().vms).toEqual(empty.vms);
  });

  it.each(['25.04.2', '25.10'])('T2: %s is refused by the field that says what to do', async (version) => {
    await start({ version });
    expect(await check(new Process(), scram)).toMatchObject([
      { field: 'truenas.login', reason: 'ScramUnsupported', message: expect.stringContaining('Plain') },
    ]);
    expect(await check(new Process(), { login: 'Plain' })).toEqual([]);
  });

  it('T2: a wrong key is named as one', async () => {
    await start({ version: '26' });
    const wrong = { ...credentials(), apiKey: new Secret(`1-${'x'.repeat(64)}`) };
    expect(await check(new Process(), scram, wrong)).toMatchObject([
      { field: 'truenas.credentialsRef', reason: 'KeyRefused' },
    ]);
  });
});
