import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { runCheck } from '../../../src/commands/check.ts';
import { parseCommandLine } from '../../../src/commands/flags/parse-command-line.ts';
import { runPlan } from '../../../src/commands/plan.ts';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { noLog } from '../../../src/lib/log.ts';
import { fetchFingerprint } from '../../../src/lib/net/certificate-pin.ts';
import { projectRoot } from '../../setup/generated-files.ts';
import { startTrueNasFixture } from '../../simulators/truenas/testing/true-nas-fixture.ts';
import { readOutput } from '../../support/read-output.ts';
import { runProgram } from '../../support/run-program.ts';
import {
  changingCallPattern,
  dumpNas,
  factoryUrl,
  nasFixture,
  startTrueNasPlatformFixture,
  toJsonText,
  useTrueNasPlatformFixture,
} from './true-nas-platform-fixture.ts';

useTrueNasPlatformFixture();

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'looking-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

type RawSpec = { talos: Record<string, unknown>; network: Record<string, unknown>; truenas: Record<string, unknown> };

/** The sample for new users, with the simulated system and then with changes. */
async function writeSampleConfig(change: (spec: RawSpec) => void = () => {}): Promise<string> {
  const documents = parseAllDocuments(await readFile(join(projectRoot, 'config/samples/truenas.yaml'), 'utf8'));
  const objects = documents.map((document) => document.toJS() as { kind: string; spec?: RawSpec });
  const host = new URL(nasFixture.simulator.line.url).host;
  for (const { spec } of objects) {
    if (!spec) continue;
    Object.assign(spec.talos, { factoryUrl });
    Object.assign(spec.truenas, { url: host, tlsFingerprint: await fetchFingerprint(host, deadlineSignal(10)) });
    change(spec);
  }
  const path = join(folder, 'small.yaml');
  await writeFile(path, objects.map((object) => stringify(object)).join('---\n'));
  return path;
}

const environmentWithCredentials = () => ({
  CREDENTIALS_USERNAME: nasFixture.simulator.line.credentials['user'] ?? '',
  CREDENTIALS_API_KEY: nasFixture.simulator.line.credentials['apiKey'] ?? '',
});

/** The result of a command without a platform cluster. */
async function run(words: string[], environment: Record<string, string> = environmentWithCredentials()) {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  const line = parseCommandLine(words, environment);
  const lines: string[] = [];
  const edges = { log: noLog, signal: deadlineSignal(30), print: (printed: string) => lines.push(printed) };
  const start = async () => {
    if (line.command === 'check') return await runCheck({ ...line.settings, ...edges });
    if (line.command === 'plan') return await runPlan({ ...line.settings, ...edges });
    throw new Error(`parsed as ${line.command}`);
  };
  const verdict = await start().catch((error: unknown) => error);
  const calls = nasFixture.switchboard.calls.map(({ name }) => name).filter((name) => changingCallPattern.test(name));
  return { verdict, lines, writes: calls.filter((name) => name !== 'POST /schematics') };
}

describe('a ProviderConfig in a file is checked without a platform cluster', () => {
  it('T11: and nothing is wrong, and nothing is created', async () => {
    await startTrueNasPlatformFixture();
    const before = toJsonText(dumpNas());
    expect(await run(['check', '--config', await writeSampleConfig()])).toEqual({
      ...{ verdict: true, writes: [] },
      lines: ['ProviderConfig small: no problems found.'],
    });
    expect(toJsonText(dumpNas())).toBe(before);
  });

  it('and the result, with hints, can be read by programs', async () => {
    await startTrueNasPlatformFixture({ seed: { interfaces: [{ name: 'vlan50', type: 'VLAN' }] } });
    const path = await writeSampleConfig((spec) => {
      spec.truenas['bridge'] = 'vlan50';
    });
    const { verdict, lines } = await run(['check', '--config', path, '-o', 'json']);
    expect(verdict).toBe(true);
    expect(readOutput('check', lines.join('\n'))).toEqual({
      ...{ providerConfig: 'small', isValid: true },
      findings: [expect.objectContaining({ field: 'truenas.bridge', isAdvice: true })],
    });
    const planned = await run(['plan', '--config', path, '--documents', '--output=yaml']);
    const { machines, isExact } = readOutput('plan', planned.lines.join('\n'));
    expect([machines.length > 0, isExact]).toEqual([true, false]);
    expect(machines[0]?.documents?.[0]).toMatchObject({ version: 'v1alpha1', machine: { type: 'controlplane' } });
    expect(JSON.stringify(machines)).not.toContain('PRIVATE KEY');
  });

  it('S46: and mere hints are reported without a failure', async () => {
    await startTrueNasPlatformFixture({ seed: { interfaces: [{ name: 'vlan50', type: 'VLAN' }] } });
    const path = await writeSampleConfig((spec) => {
      spec.truenas['bridge'] = 'vlan50';
    });
    expect(await run(['check', '--config', path])).toMatchObject({
      verdict: true,
      lines: [
        expect.stringMatching(/^truenas\.bridge: vlan50 is not a bridge/),
        'ProviderConfig small: no problems found.',
      ],
    });
  });

  it('T11, T62: and everything that is missing is reported at once, by its field', async () => {
    const users = [
      { name: 'talos-provider', apiKey: 'k'.repeat(64), roles: ['VM_DEVICE_WRITE', 'DATASET_WRITE', 'POOL_READ'] },
    ];
    const interfaces = [{ name: 'vlan50', type: 'VLAN' as const, address: '192.168.10.40/24' }];
    await startTrueNasPlatformFixture({
      seed: { users, interfaces, memoryMiB: 8192, pools: [{ name: 'tank', sizeBytes: 60 * 2 ** 30 }] },
    });
    const { verdict, lines, writes } = await run([
      ...['check', '--config'],
      await writeSampleConfig((spec) => {
        spec.truenas['bridge'] = 'br7';
        spec.talos['version'] = '1.13.99';
      }),
    ]);
    expect({ verdict, writes }).toEqual({ verdict: false, writes: [] });
    expect(lines.map((line) => line.split(': ')[0])).toEqual([
      ...['truenas.credentialsRef', 'truenas.bridge', 'truenas.pool', 'truenas.sizes', 'talos'],
    ]);
    expect(lines[0]).toMatch(/FULL_ADMIN \(filesystem\.put[,)].*DATASET_DELETE \(pool\.dataset\.delete\)/);
  });

  it('and an unreachable system leads to another exit code than a failed check', async () => {
    await startTrueNasPlatformFixture();
    const path = await writeSampleConfig((spec) => {
      spec.truenas['url'] = '127.0.0.1:1';
    });
    const { verdict, lines } = await run(['check', '--config', path]);
    expect(verdict).toMatchObject({ code: 'TRUENAS_UNREACHABLE' });
    expect(lines).toEqual([]);
    const { code, err } = await runProgram('check', '--config', join(folder, 'gone.yaml'));
    expect(code).toBe(2);
    expect(err).toMatch(/--config: .*gone\.yaml cannot be read/);
  });

  it('with the key in a file, or the placeholder of the sample, which is no key', async () => {
    await startTrueNasPlatformFixture();
    const path = await writeSampleConfig();
    const keys = join(folder, 'keys.yaml');
    const { CREDENTIALS_USERNAME: username, CREDENTIALS_API_KEY: apiKey } = environmentWithCredentials();
    await writeFile(
      keys,
      stringify({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'any' }, stringData: { username, apiKey } }),
    );
    expect(await run(['check', '--config', path, '--credentials-file', keys], {})).toMatchObject({ verdict: true });
    const { verdict, lines } = await run(['check', '--config', path], {});
    expect(verdict).toBe(false);
    expect(lines.join()).toMatch(/^truenas\.credentialsRef: TrueNAS rejected the API key/);
  });
});

describe('a ProviderConfig of two systems in a file', () => {
  it('T58: is checked on each of them, for the machines of that system and with its own Secret', async () => {
    await startTrueNasPlatformFixture({ version: '25.04.2' });
    const west = await startTrueNasFixture({ version: '26', seed: { memoryMiB: 2048 } });
    try {
      const names = { east: nasFixture, west };
      const systems = Object.entries(names).map(
        ([
          name,
          {
            simulator: { line },
            ca,
          },
        ]) => ({
          ...{ name, url: line.url, caBundle: ca, credentialsRef: { name }, pool: 'tank', bridge: 'br0' },
        }),
      );
      const path = await writeSampleConfig(({ truenas }) => {
        const { sizes } = truenas;
        for (const field of Object.keys(truenas)) delete truenas[field];
        Object.assign(truenas, { systems, sizes });
      });
      const secrets = Object.entries(names).map(
        ([
          name,
          {
            simulator: { line },
          },
        ]) => {
          const { user: username, apiKey } = line.credentials;
          return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { username, apiKey } };
        },
      );
      await appendFile(path, secrets.map((secret) => `---\n${stringify(secret)}`).join(''));
      const { verdict, lines } = await run(['check', '--config', path], {});
      expect(verdict).toBe(false);
      expect(lines.join('\n')).toMatch(
        new RegExp(
          `^truenas\\.sizes: ${new URL(west.simulator.line.url).host} can guarantee the memory of 0 of 1 machines? .*$`,
        ),
      );
    } finally {
      await west.close();
    }
  });
});

describe('a ProviderConfig in a file yields a plan', () => {
  const asked = () => nasFixture.switchboard.calls.length;

  it('of machines, addresses, disks and cards, without any call', async () => {
    await startTrueNasPlatformFixture();
    const before = asked();
    const { verdict, lines } = await run(['plan', '--config', await writeSampleConfig(), '--cluster', 'shop/prod'], {});
    expect([verdict, asked()]).toEqual([true, before]);
    const out = lines.join('\n');
    expect(out).toMatch(
      /^prod-\w+-cp-0 \(controlplane, size medium\) would be created\n {2}creates +virtual machine prod_\w+_cp_0_… on 127\.0\.0\.1, 2 CPUs, 4096 MiB$/m,
    );
    expect(out).toMatch(/creates +zvol tank\/talos\/prod_\w+_cp_0_…\/boot, 40 GiB on /);
    const cards = [...out.matchAll(/network card (\S+) at br0, address (\S+), gateway 192\.168\.10\.1$/gm)];
    expect(cards.map(([, mac, address]) => [mac, address])).toEqual(
      [21, 22, 23].map((last) => ['02:00:00:00:00:00', `192.168.10.${last}/24`]),
    );
    expect(out).toContain('Endpoint of the API server: https://192.168.10.20:6443');
    expect(out).toMatch(/3 machines, 0 disks to be erased\. Nothing was changed\. Ellipses and zeros replace/);
  });

  it('with the configuration of each machine, and no secret in it', async () => {
    await startTrueNasPlatformFixture();
    const hidden = 'hunter2hunter2';
    const path = await writeSampleConfig((spec) => {
      const auth = { username: 'puller', password: hidden };
      spec.talos['patches'] = [{ machine: { registries: { config: { 'ghcr.io': { auth } } } } }];
    });
    const { verdict, lines } = await run(['plan', '--config', path, '--documents']);
    expect(verdict).toBe(true);
    const [summary, ...documents] = lines;
    expect(documents.map((text) => text.split('\n')[0])).toEqual(
      [...(summary ?? '').matchAll(/^(small-\S+) \(controlplane/gm)].map(([, name]) => `# ${name}`),
    );
    expect(documents).toHaveLength(3);
    for (const [i, text] of documents.entries()) {
      const [main] = parseAllDocuments(text).map((document) => document.toJS() as Record<string, never>);
      expect(main).toMatchObject({
        machine: {
          type: 'controlplane',
          token: '(made with the cluster)',
          install: { disk: '/dev/vda' },
          registries: { config: { 'ghcr.io': { auth: '(secret)' } } },
        },
        cluster: { controlPlane: { endpoint: 'https://192.168.10.20:6443' } },
      });
      expect(text).toContain(`192.168.10.${21 + i}/24`);
      expect(text).not.toMatch(/hunter2|stand-in|c3RhbmQtaW4/);
    }
  });

  it.each<[RegExp, (spec: RawSpec) => void]>([
    [
      /blocked +.*talos\.patches\[0\].*nonsense/,
      ({ talos }) => Object.assign(talos, { patches: [{ machine: { nonsense: true } }] }),
    ],
    [
      /-cp-2 .*\n(?: +creates.*\n)+ +blocked +No address/,
      ({ network }) => Object.assign(network, { addressPool: ['192.168.10.20-192.168.10.22'] }),
    ],
  ])('that names the obstacle for a machine, with another exit code: %s', async (words, change) => {
    await startTrueNasPlatformFixture();
    const { verdict, lines } = await run(['plan', '--config', await writeSampleConfig(change)]);
    expect(verdict).toBe(false);
    expect(lines.join()).toMatch(words);
  });
});
