import { ProviderConfig, type ProviderConfigSpec } from '../api/provider-config.ts';
import { slotsOf } from '../controllers/cluster/view.ts';
import { lookOver } from '../controllers/provider-config/look-over.ts';
import { parseSpec } from '../controllers/spec/parse.ts';
import type { Chosen } from '../controllers/spec/platform.ts';
import type { Finding } from '../engine/platform.ts';
import { Store } from '../kube/store.ts';
import { ProviderError } from '../lib/errors.ts';
import { contains, parseIpv4, parseIpv4Range } from '../lib/ipv4.ts';
import type { Secrets } from '../lib/secret.ts';
import { platforms } from '../platforms/index.ts';
import type { CheckSettings } from './look-flags.ts';
import { type LookEdges, type Looking, looking } from './looking.ts';
import { pickConfig } from './pick-config.ts';

/** Prints what is wrong with a ProviderConfig, by field. Whether nothing is. Throws when it could not be found out. */
export async function check(options: CheckSettings & LookEdges): Promise<boolean> {
  const { name, findings } = await looking(options, (at) => findAll(at, options.providerConfig));
  for (const { field, message } of findings) options.print(`${field}: ${message}`);
  if (findings.length === 0) options.print(`ProviderConfig ${name}: nothing is wrong.`);
  return findings.length === 0;
}

async function findAll(at: Looking, wanted: string | undefined) {
  const { kube, leasesOf, signal } = at;
  const providerConfigs = new Store<ProviderConfig>();
  providerConfigs.replace((await kube.list(ProviderConfig, {}, signal)).items);
  const config = pickConfig(providerConfigs.list(), wanted);
  const { name } = config.metadata;
  const addresses = leasesOf(config.spec?.providerRef?.name ?? '');
  const looked = await lookOver({ platforms, addresses, stores: { providerConfigs } }, config, signal);
  if ('findings' in looked) return { name, findings: looked.findings };
  const parsed = parseSpec(config);
  return { name, findings: parsed.success ? await askPlatform(at, looked.chosen, name, parsed.data) : [] };
}

/** What a change would mend is a finding; that nobody answers is none, and thrown. */
async function askPlatform(
  at: Looking,
  { platform, config }: Chosen,
  name: string,
  spec: ProviderConfigSpec,
): Promise<readonly Finding[]> {
  const field = `${platform.name}.credentialsRef`;
  const findings: Finding[] = [];
  try {
    const credentials = await at.credentials(platform.credentialsRef(config));
    findings.push(...(await platform.check({ ...at, config, credentials })));
    // With a platform cluster around it, the ProviderConfig may have the clusters that it is for.
    if (at.isFile) findings.push(...(await foresee(at, { platform, config }, credentials, name, spec)));
  } catch (error) {
    if (!(error instanceof ProviderError) || error.retry !== 'after-change') throw error;
    // What keeps the second look from going on has been found by the first.
    if (findings.length === 0) findings.push({ field, reason: error.code, message: error.message });
  }
  return findings;
}

/** What one cluster would lack. */
async function foresee(
  at: Looking,
  { platform, config }: Pick<Chosen, 'platform' | 'config'>,
  credentials: Secrets,
  name: string,
  spec: ProviderConfigSpec,
): Promise<readonly Finding[]> {
  const { version, factoryUrl, extensions, kernelArguments } = spec.talos;
  const ranges = (spec.network.addressPool ?? []).flatMap((text) => parseIpv4Range(text) ?? []);
  const ref = { namespace: 'default', name };
  return await platform.foresee({
    ...at,
    ...{ config, credentials },
    machines: slotsOf({ ref, spec, secrets: undefined }),
    talos: { version, factoryUrl, schematic: { extensions, kernelArguments } },
    mayBeGiven: (text) => {
      const address = parseIpv4(text);
      return address !== undefined && ranges.some((range) => contains(range, address));
    },
  });
}
