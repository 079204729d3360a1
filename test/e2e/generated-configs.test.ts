import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { describeCrds } from '../../src/api/crd.ts';
import { ClusterProfile } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { brokenProviderConfig } from '../support/arbitrary/broken-provider-config.ts';
import { trials } from '../support/arbitrary/property.ts';
import { anyProviderConfig, type RawSpec } from '../support/arbitrary/provider-config.ts';
import { type Broken, brokenBySchema, specSchema } from '../support/arbitrary/schema-breaks.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { providerCalls, traces } from './support/traces.ts';
import {
  discard,
  expectQuiet,
  expectSentence,
  judge,
  type Reader,
  refusal,
  type Verdict,
  verdictOn,
} from './support/verdicts.ts';

const subnet = '127.42.130';
const open = startStage({ subnet, speed: 50 });

prepare(open, ({ things }) => things.credentials());

const schema = specSchema(describeCrds(), 'ProviderConfig');

/** One that fits into the stage: on its TrueNAS system, out of its addresses. */
const good = (): fc.Arbitrary<RawSpec> => {
  const { truenas, talos } = open().things.configSpec();
  const { sizes: _, ...section } = truenas;
  return anyProviderConfig({ subnet, factoryUrl: String(talos['factoryUrl']), truenas: section });
};

let count = 0;
const counts = new Map<string, number>();

async function submit(value: RawSpec): Promise<Verdict> {
  count += 1;
  const name = `generated-${count}`;
  const verdict = await judge(open(), ProviderConfig, () => create(name, value), read);
  const what = verdict.kind === 'served' ? 'served' : `refused by the ${verdict.by}`;
  counts.set(what, (counts.get(what) ?? 0) + 1);
  return verdict;
}

const create = (name: string, value: RawSpec): Promise<ProviderConfig> =>
  open().platform.create(ProviderConfig, {
    apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
    kind: 'ProviderConfig',
    metadata: { name },
    spec: value as never,
  });

const read: Reader<ProviderConfig> = (config) =>
  config.status?.phase === 'Ready' ? { kind: 'served' } : refusal(config, 'ConfigValid', 'CredentialsValid');

afterAll(() => {
  process.stdout.write(` ProviderConfigs: ${[...counts].map(([what, n]) => `${n} ${what}`).join(', ')}\n`);
});

describe('a generated ProviderConfig', () => {
  it('that is right is served, whatever it makes use of', async () => {
    await fc.assert(
      fc.asyncProperty(good(), async (value) => {
        expect(await submit(value)).toEqual({ kind: 'served' });
      }),
      trials('right ProviderConfigs', 60),
    );
  });

  it('that does not fit the schema is refused by the API server, which names the field', async () => {
    await fc.assert(
      fc.asyncProperty(brokenBySchema(good(), schema), async ({ value, field }: Broken<RawSpec>) => {
        const verdict = await submit(value);
        expect(verdict).toMatchObject({ by: 'api' });
        expectSentence(verdict, field);
      }),
      trials('ProviderConfigs that do not fit the schema', 120),
    );
  });

  it('that fits the schema and cannot be served is refused by a condition, which names the field', async () => {
    await fc.assert(
      fc.asyncProperty(brokenProviderConfig(good()), async ({ value, field }) => {
        const verdict = await submit(value);
        expect(verdict).toMatchObject({ by: 'provider', reason: 'InvalidConfig' });
        expectSentence(verdict, `${field}: `);
      }),
      trials('ProviderConfigs that fit the schema', 120),
    );
  });

  it('does not stand in the way of another one', async () => {
    const bad = fc.sample(brokenProviderConfig(good()), { numRuns: 40 });
    const alone = await callsFor('alone');
    const made = await Promise.all(bad.map(({ value }, i) => create(`bad-${i}`, value)));
    try {
      expect(await callsFor('among')).toEqual(alone);
    } finally {
      await Promise.all(made.map((one) => discard(open(), ProviderConfig, one)));
    }
  });
});

/** What is asked of the platform cluster about one good ProviderConfig until it is served. */
async function callsFor(name: string): Promise<string[]> {
  const { calls } = open();
  const first = calls.length;
  const [value] = fc.sample(good(), { numRuns: 1, seed: 1 }) as [RawSpec];
  const made = await create(name, value);
  expect(await verdictOn(open(), ProviderConfig, made, read)).toEqual({ kind: 'served' });
  const own = providerCalls(calls.slice(first)).filter((call) => call.name.includes(name));
  await discard(open(), ProviderConfig, made);
  return own.map((call) => call.name.replaceAll(name, '…'));
}

describe('after all that', () => {
  it('nothing is left of them', async () => {
    expect(await traces(open())).toEqual([]);
    expect((await open().platform.list(ClusterProfile)).items).toEqual([]);
  });

  it('nothing was a fault, nothing shows the insides of the program, and no secret came out', () => {
    expectQuiet(open());
    expect(leaks(open())).toEqual([]);
  });
});
