import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildCrds } from '../../../src/api/crd.ts';
import { ClusterProfile } from '../../../src/api/openmcp/types.ts';
import { ProviderConfig } from '../../../src/api/provider-config.ts';
import { invalidProviderConfig } from '../../support/arbitrary/invalid-provider-config.ts';
import { propertyParameters, propertySeed } from '../../support/arbitrary/property-parameters.ts';
import { anyProviderConfig, type RawProviderConfigSpec } from '../../support/arbitrary/provider-config.ts';
import { specSchema } from '../../support/arbitrary/schema-violations.ts';
import { GeneratedObjects } from '../support/objects/generated-objects.ts';
import { expectNoErrorsLogged, readRejection } from '../support/objects/submission-result.ts';
import { truenasCredentialsName } from '../support/objects/test-objects.ts';
import { listLeftovers, providerCalls } from '../support/observation/provider-calls.ts';
import { findSecretLeaks } from '../support/observation/secret-leaks.ts';
import { prepareTestbed, startTestbed } from '../support/testbed/testbed-hooks.ts';

const subnet = '127.42.130';
const nas = { pools: [{ name: 'tank' }, { name: 'fast' }], bridges: ['br0', 'br1'] };
const open = startTestbed({ subnet, speed: 30, seeds: { truenas: nas } });
prepareTestbed(open, async ({ objects }) => {
  // Displays take their password from it.
  const secret = { ...objects.goodCredentials(), displayPassword: 'a-display-password' };
  await objects.credentials(truenasCredentialsName, secret);
});

const configs = new GeneratedObjects<ProviderConfig, RawProviderConfigSpec>(open, {
  type: ProviderConfig,
  create: (spec, name) =>
    open().platform.create(ProviderConfig, {
      apiVersion: 'talos.clusters.openmcp.cloud/v1alpha1',
      kind: 'ProviderConfig',
      metadata: { name },
      spec: spec as never,
    }),
  read: (config) =>
    config.status?.phase === 'Ready' ? { kind: 'served' } : readRejection(config, 'ConfigValid', 'CredentialsValid'),
});

/** A spec that fits the testbed: on its TrueNAS system, with its addresses. */
const good = (): fc.Arbitrary<RawProviderConfigSpec> => {
  const { truenas, talos } = open().objects.configSpec();
  const { sizes: _, ...section } = truenas;
  const factoryUrl = String(talos['factoryUrl']);
  return anyProviderConfig({ subnet, factoryUrl, truenas: section, pools: ['fast'], bridges: nas.bridges });
};

const endpointOf = ({ controlPlane }: RawProviderConfigSpec): unknown =>
  controlPlane?.['endpoint'] ?? Symbol('its own');

describe('a generated ProviderConfig', () => {
  it('that is valid is accepted, whatever features it uses', async () => {
    await fc.assert(
      fc.asyncProperty(good(), (value) => configs.serve(value)),
      propertyParameters('right ProviderConfigs', 40),
    );
  });

  configs.itRefusesBySchema(specSchema(buildCrds(), 'ProviderConfig'), good, (spec) => spec, 80);
  configs.itRefusesByCondition(() => invalidProviderConfig(good()), 80);

  it('that is invalid delays no other', async () => {
    const [value] = fc.sample(good(), { numRuns: 1, seed: propertySeed }) as [RawProviderConfigSpec];
    // Of several that name the same endpoint the oldest has it, whatever else is wrong with it.
    const other = invalidProviderConfig(good()).filter((one) => endpointOf(one.value) !== endpointOf(value));
    const bad = fc.sample(other, { numRuns: 40, seed: propertySeed });
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

describe('after these tests', () => {
  it('nothing is left of the ProviderConfigs', async () => {
    expect(await listLeftovers(open())).toEqual([]);
    expect((await open().platform.list(ClusterProfile)).items).toEqual([]);
  });

  it('the provider logs no fault of its own, and no message shows internals or a secret', () => {
    expectNoErrorsLogged(open());
    expect(findSecretLeaks(open())).toEqual([]);
  });
});
