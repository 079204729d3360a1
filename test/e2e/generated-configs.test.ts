import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeCrds } from '../../src/api/crd.ts';
import { ClusterProfile } from '../../src/api/openmcp.ts';
import { ProviderConfig } from '../../src/api/provider-config.ts';
import { brokenProviderConfig } from '../support/arbitrary/broken-provider-config.ts';
import { trials } from '../support/arbitrary/property.ts';
import { anyProviderConfig, type RawSpec } from '../support/arbitrary/provider-config.ts';
import { specSchema } from '../support/arbitrary/schema-breaks.ts';
import { Generated } from './support/generated.ts';
import { prepare, startStage } from './support/hooks.ts';
import { leaks } from './support/secrets.ts';
import { credentialsName } from './support/things.ts';
import { providerCalls, traces } from './support/traces.ts';
import { expectQuiet, refusal } from './support/verdicts.ts';

const subnet = '127.42.130';
const nas = { pools: [{ name: 'tank' }, { name: 'fast' }], bridges: ['br0', 'br1'] };
const open = startStage({ subnet, speed: 50, seeds: { truenas: nas } });
prepare(open, async ({ things }) => {
  // Displays have their password from there.
  const secret = { ...things.goodCredentials(), displayPassword: 'a-display-password' };
  await things.credentials(credentialsName, secret);
});

const configs = new Generated<ProviderConfig, RawSpec>(open, {
  type: ProviderConfig,
  create: (spec, name) =>
    open().platform.create(ProviderConfig, {
      apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
      kind: 'ProviderConfig',
      metadata: { name },
      spec: spec as never,
    }),
  read: (config) =>
    config.status?.phase === 'Ready' ? { kind: 'served' } : refusal(config, 'ConfigValid', 'CredentialsValid'),
});

/** One that fits into the stage: on its TrueNAS system, out of its addresses. */
const good = (): fc.Arbitrary<RawSpec> => {
  const { truenas, talos } = open().things.configSpec();
  const { sizes: _, ...section } = truenas;
  const factoryUrl = String(talos['factoryUrl']);
  return anyProviderConfig({ subnet, factoryUrl, truenas: section, pools: ['fast'], bridges: nas.bridges });
};

const endpointOf = ({ controlPlane }: RawSpec): unknown => controlPlane?.['endpoint'] ?? Symbol('its own');

describe('a generated ProviderConfig', () => {
  it('that is right is served, whatever it makes use of', async () => {
    await fc.assert(
      fc.asyncProperty(good(), (value) => configs.serve(value)),
      trials('right ProviderConfigs', 40),
    );
  });

  configs.itRefusesBySchema(specSchema(describeCrds(), 'ProviderConfig'), good, (spec) => spec, 80);
  configs.itRefusesByCondition(() => brokenProviderConfig(good()), 80);

  it('that cannot be served stands in nobody’s way', async () => {
    const [value] = fc.sample(good(), { numRuns: 1 }) as [RawSpec];
    // Of those that name the same endpoint the oldest has it, whatever else is wrong with it.
    const elsewhere = brokenProviderConfig(good()).filter((one) => endpointOf(one.value) !== endpointOf(value));
    const bad = fc.sample(elsewhere, { numRuns: 40 });
    const ofPlatform = (name: string) => name.replace(/alone|among/, '…');
    await configs.expectUndisturbed(
      value,
      bad.map((one) => one.value),
      (calls, name) =>
        providerCalls(calls)
          .filter((call) => call.name.includes(name))
          .map((call) => ofPlatform(call.name)),
    );
  });
});

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
