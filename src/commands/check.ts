import { ProviderConfig } from '../api/provider-config.ts';
import type { ProviderConfigSpec } from '../api/provider-config-spec.ts';
import { askSites, describeSiteError } from '../controllers/ask-sites.ts';
import { chooseSite } from '../controllers/cluster/choose-site.ts';
import { type Slot, slotsOf } from '../controllers/cluster/view.ts';
import { lookOver } from '../controllers/provider-config/look-over.ts';
import { parseSpec } from '../controllers/spec/parse.ts';
import type { Chosen } from '../controllers/spec/platform.ts';
import type { Finding } from '../engine/platform.ts';
import { sitesIn } from '../engine/sites.ts';
import { Store } from '../kube/store.ts';
import { ProviderError } from '../lib/errors.ts';
import { contains, parseIpv4, parseIpv4Range } from '../lib/ipv4.ts';
import { platforms } from '../platforms/index.ts';
import type { CheckSettings } from './look-flags.ts';
import { type LookEdges, type Looking, looking } from './looking.ts';
import { pickConfig } from './pick-config.ts';

/** Prints what is wrong with a ProviderConfig, by field. Whether nothing is. Throws when it could not be found out. */
export async function check(options: CheckSettings & LookEdges): Promise<boolean> {
  const { name, findings } = await looking(options, (at) => findAll(at, options.providerConfig));
  for (const { field, message } of findings) options.print(`${field}: ${message}`);
  const isRight = findings.every(isAdvice);
  if (isRight) options.print(`ProviderConfig ${name}: nothing is wrong.`);
  return isRight;
}

const isAdvice = ({ advice }: Finding): boolean => advice === true;

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
  const names = platform.sites.names(config);
  const machines = placedSlots(names, name, spec);
  const { findings, errors } = await askSites(sitesIn(names), async (site) => {
    const field = platform.sites.fieldAt(config, site, `${platform.name}.credentialsRef`);
    const found: Finding[] = [];
    try {
      const credentials = await at.credentials(platform.credentialsRef(config, site));
      const here = machines.filter((machine) => machine.site === site);
      found.push(...(await platform.check({ ...at, config, site, credentials })));
      // With a platform cluster around it, the ProviderConfig may have the clusters that it is for.
      if (at.isFile)
        found.push(...(await foresee(at, { platform, config }, { site, credentials, machines: here }, spec)));
    } catch (error) {
      if (!(error instanceof ProviderError) || error.retry !== 'after-change') throw error;
      // What keeps the second look from going on has been found by the first.
      if (found.every(isAdvice)) found.push({ field, reason: error.code, message: error.message });
    }
    return found;
  });
  const [first] = errors;
  if (first && findings.every(isAdvice)) throw first.error;
  return [
    ...findings,
    ...errors.map((one) => ({ field: platform.name, reason: one.error.code, message: describeSiteError(one) })),
  ];
}

/** The machines of a cluster, each with where it would be made. */
function placedSlots(names: readonly string[], name: string, spec: ProviderConfigSpec): Slot[] {
  const slots = slotsOf({ ref: { namespace: 'default', name }, spec, secrets: undefined });
  const made: Slot[] = [];
  for (const slot of slots) made.push({ ...slot, site: chooseSite(names, slot.pool, made, made) });
  return made;
}

/** What one cluster would lack. */
async function foresee(
  at: Looking,
  { platform, config }: Pick<Chosen, 'platform' | 'config'>,
  here: Pick<Parameters<Chosen['platform']['foresee']>[0], 'site' | 'credentials' | 'machines'>,
  spec: ProviderConfigSpec,
): Promise<readonly Finding[]> {
  const { version, factoryUrl, extensions, kernelArguments } = spec.talos;
  const ranges = (spec.network.addressPool ?? []).flatMap((text) => parseIpv4Range(text) ?? []);
  return await platform.foresee({
    ...at,
    ...{ config, ...here },
    talos: { version, factoryUrl, schematic: { extensions, kernelArguments } },
    mayBeGiven: (text) => {
      const address = parseIpv4(text);
      return address !== undefined && ranges.some((range) => contains(range, address));
    },
  });
}
