import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client.ts';
import { connectionFrom } from '../../src/kube/connection.ts';
import { Namespace } from '../../src/kube/core-types.ts';
import { Transport } from '../../src/kube/transport.ts';
import { root } from '../setup/generated.ts';
import { readWords } from './main-words.ts';
import type { RoomLine } from './room.ts';

const children: ChildProcess[] = [];

function start(...words: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/world/main.ts', ...words], { cwd: root });
  children.push(child);
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const exited = once(child, 'exit').then(([code]) => code as number);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<RoomLine> => {
    const { value } = await Promise.race([lines.next(), exited.then(() => ({ value: undefined }))]);
    if (value === undefined) throw new Error(`it ended: ${err}`);
    return JSON.parse(value) as RoomLine;
  };
  return { child, exited, line, errors: () => err };
}

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

describe('a room alone, for any program that reads a line of JSON', () => {
  test('says where it is and what a client needs, and leaves nothing behind when it is told to stop', async () => {
    const world = start('kube', '--listen', '127.0.0.1:0');
    const line = await world.line();
    expect(line).toEqual({
      room: 'kube',
      url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      credentials: { kubeconfig: expect.any(String), token: expect.any(String) },
      ca: expect.any(String),
    });
    const kubeconfig = line.credentials['kubeconfig'] ?? '';
    const client = new KubeClient(new Transport(connectionFrom({ path: kubeconfig })), { fieldManager: 'tests' });
    await expect(client.get(Namespace, { name: 'kube-system' })).resolves.toBeDefined();
    await client.close();
    world.child.kill('SIGTERM');
    expect(await world.exited).toBe(0);
    expect(existsSync(dirname(kubeconfig))).toBe(false);
  });

  test('that does not exist ends with a sentence', async () => {
    const world = start('nosuch');
    expect(await world.exited).toBe(1);
    expect(world.errors()).toMatch(/^There is no room nosuch.*\n$/);
  });
});

describe('the words', () => {
  test.each([
    [['kube', 'truenas'], /One room at a time/],
    [['kube', '--listen', 'here'], /--listen/],
    [['kube', '--listen', '127.0.0.1:99999'], /--listen/],
    [['kube', '--time-scale', '0'], /--time-scale/],
    [['kube', '--seed'], /--seed needs a value/],
  ])('%j are answered with a sentence', (words, sentence) => {
    expect(() => readWords(words)).toThrow(sentence);
  });

  test('of a room alone go to that room', () => {
    expect(readWords(['truenas', '--listen=[::1]:8443', '--version', '25.04.2', '--time-scale', '0.1'])).toEqual({
      room: 'truenas',
      listen: { host: '[::1]', port: 8443 },
      timeScale: 0.1,
      seed: undefined,
      folder: undefined,
      extra: { version: '25.04.2' },
    });
  });
});

test('without a room all of them start and each prints its line', async () => {
  const world = start('--time-scale', '0.01');
  const rooms: string[] = [];
  for (let i = 0; i < 4; i += 1) rooms.push((await world.line()).room);
  expect(rooms.sort()).toEqual(['image-factory', 'kube', 'operator', 'truenas']);
  world.child.kill('SIGTERM');
  expect(await world.exited).toBe(0);
});
