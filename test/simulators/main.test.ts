import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { KubeClient } from '../../src/kube/client/client.ts';
import { Namespace } from '../../src/kube/core-types.ts';
import { loadApiServerConnection } from '../../src/kube/transport/api-server-connection.ts';
import { Transport } from '../../src/kube/transport/transport.ts';
import { projectRoot } from '../setup/generated-files.ts';
import { parseWorldArguments } from '../world/command-line.ts';
import type { SimulatorAccess } from '../world/simulator.ts';
import { simulators } from '../world/simulators.ts';

const children: ChildProcess[] = [];

/** Directory for files of the tests. */
const folder = mkdtempSync(join(tmpdir(), 'main-'));
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (...words: string[]) => startWith({}, ...words);

function startWith(environment: Readonly<Record<string, string>>, ...words: string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'test/world/main.ts', ...words], {
    cwd: projectRoot,
    env: { ...process.env, ...environment },
  });
  children.push(child);
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const exited = once(child, 'exit').then(([code]) => code as number);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<SimulatorAccess> => {
    const { value } = await Promise.race([lines.next(), exited.then(() => ({ value: undefined }))]);
    if (value === undefined) throw new Error(`it ended: ${err}`);
    return JSON.parse(value) as SimulatorAccess;
  };
  const order = (what: object) => child.stdin.write(`${JSON.stringify(what)}\n`);
  const stop = async () => {
    child.kill('SIGTERM');
    expect(await exited).toBe(0);
  };
  return { child, exited, line, order, stop, errors: () => err };
}

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

describe('a single simulator, for any program that reads a line of JSON', () => {
  test('prints its address and what a client needs, and leaves nothing behind after SIGTERM', async () => {
    const world = start('kube', '--listen', '127.0.0.1:0');
    const line = await world.line();
    expect(line).toEqual({
      simulator: 'kube',
      url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      credentials: { kubeconfig: expect.any(String), token: expect.any(String) },
      ca: expect.any(String),
    });
    const kubeconfig = line.credentials['kubeconfig'] ?? '';
    const client = new KubeClient(new Transport(loadApiServerConnection({ path: kubeconfig })), {
      fieldManager: 'tests',
    });
    await expect(client.get(Namespace, { name: 'kube-system' })).resolves.toBeDefined();
    await client.close();
    await world.stop();
    expect(existsSync(dirname(kubeconfig))).toBe(false);
  });

  test.each<[string, string[], Partial<SimulatorAccess>]>([
    ['truenas', ['--version', '26'], { url: expect.stringMatching(/^wss:.*\/api\/current$/), ca: expect.any(String) }],
    ['image-factory', [], { url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/), credentials: {}, ca: null }],
    [
      'robot',
      ['--ssh-port', 'any'],
      { url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/), ca: expect.any(String) },
    ],
    ['oidc', [], { url: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/), ca: expect.any(String) }],
  ])('%s prints what a client of the real service would be given', async (simulator, words, expected) => {
    const world = start(simulator, ...words);
    expect(await world.line()).toMatchObject({ simulator, ...expected });
    await world.stop();
  });

  test('ends at once during its start and leaves nothing', async () => {
    const home = join(folder, 'home');
    mkdirSync(home);
    const world = startWith({ TMPDIR: home });
    const kept = () => readdirSync(home).filter((name) => name.startsWith('world-'));
    await expect
      .poll(() => kept().flatMap((name) => readdirSync(join(home, name))), { timeout: 20_000 })
      .not.toEqual([]);
    await world.stop();
    expect(kept()).toEqual([]);
  });

  test('fails as requested, by a file at its start and by commands while it runs', async () => {
    const faults = file('faults.yaml', '- {fail: ^GET /versions$, with: error, status: 503, body: busy}\n');
    const world = start('image-factory', '--faults', faults);
    const { url } = await world.line();
    const ask = async () => {
      const answer = await fetch(`${url}/versions`);
      return `${answer.status} ${(await answer.text()).slice(0, 4)}`;
    };
    expect([await ask(), await ask()]).toEqual(['503 busy', '200 ["v1']);
    world.order({ fail: 'versions', with: 'error', status: 429, body: 'slow', times: 3 });
    await expect.poll(() => world.errors()).toContain('carried out');
    expect(await ask()).toBe('429 slow');
    world.order({ clear: true });
    world.order({ restart: 'image-factory' });
    world.order({ restart: 'nosuch' });
    world.order({ fail: '(', with: 'drop' });
    await expect.poll(() => world.errors()).toContain('( is not a regular expression');
    expect(world.errors()).toContain('there is no simulator nosuch; there is image-factory');
    expect(await ask()).toBe('200 ["v1');
    await world.stop();
  });
});

describe('the program', () => {
  test('prints help for every simulator and every flag', async () => {
    const world = start('--help');
    let text = '';
    world.child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    expect(await world.exited).toBe(0);
    for (const word of [
      ...simulators.map(({ name }) => name),
      '--listen',
      '--seed',
      '--faults',
      '--folder',
      '--time-scale',
    ])
      expect(text).toContain(`  ${word} `);
  });

  test.each([
    [['nosuch'], /^There is no simulator nosuch\. There are: .*\n$/],
    [['truenas', '--version', '24.10'], /^no TrueNAS 24\.10 here; there is 25\.04\.1.*\n$/],
    [['--seed', file('simulators.yaml', 'nosuch: {}\n')], /^--seed: there is no simulator nosuch\.\n$/],
  ])('exits with 2 and a sentence when it cannot do what %j ask for', async (words, sentence) => {
    const world = start(...words);
    expect(await world.exited).toBe(2);
    expect(world.errors()).toMatch(sentence);
  });
});

describe('the arguments', () => {
  test.each([
    [['kube', 'truenas'], /One simulator at a time/],
    [['kube', '--listen', 'here'], /--listen/],
    [['kube', '--listen', '127.0.0.1:99999'], /--listen/],
    [['kube', '--listen', '[::1]:0'], /--listen/],
    [['--listen', '127.0.0.1:0'], /--listen is for one simulator/],
    [['kube', '--time-scale', '0'], /--time-scale/],
    [['kube', '--seed'], /--seed needs a value/],
    [['kube', '--seed=a', '--seed=b'], /--seed is there twice/],
    [['kube', '--version', '26'], /There is no flag --version for kube/],
    [['--nosuch', '1'], /There is no flag --nosuch\. Ask --help/],
  ])('%j are refused with a sentence', (words, sentence) => {
    expect(() => parseWorldArguments(words, simulators)).toThrow(sentence);
  });

  test('of a single simulator are passed to that simulator', () => {
    const words = ['truenas', '--listen=127.0.0.1:8443', '--version', '25.04.2', '--time-scale', '0.1'];
    expect(parseWorldArguments(words, simulators)).toMatchObject({
      simulator: { name: 'truenas' },
      listen: { host: '127.0.0.1', port: 8443 },
      timeScale: 0.1,
      extra: { version: '25.04.2' },
    });
  });
});

test('without a simulator start all of them, and each prints its line', async () => {
  const world = start('--time-scale', '0.01');
  const seen: string[] = [];
  while (seen.length < simulators.length) seen.push((await world.line()).simulator);
  expect(seen.sort()).toEqual(simulators.map(({ name }) => name).sort());
  await world.stop();
});
