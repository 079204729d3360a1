import { ProviderConfig } from '../api/provider-config.ts';
import type { ProviderConfigSpec } from '../api/provider-config-spec.ts';
import { chooseFailureDomain } from '../controllers/cluster/choose-failure-domain.ts';
import { listDesiredSlots, type MachineSlot } from '../controllers/cluster/scaling/machine-slots.ts';
import {
  checkFailureDomains,
  describeFailureDomainError,
} from '../controllers/provider-config/check-failure-domains.ts';
import { validateProviderConfig } from '../controllers/provider-config/validate-provider-config.ts';
import type { ChosenPlatform } from '../controllers/shared/spec/choose-platform.ts';
import { parseSpec } from '../controllers/shared/spec/parse-spec.ts';
import { failureDomainsOrDefault } from '../engine/capabilities/failure-domains.ts';
import type { Diagnostic } from '../engine/diagnostic.ts';
import { ObjectStore } from '../kube/reflector/object-store.ts';
import { ProviderError } from '../lib/errors.ts';
import { ipRangesOverlap, parseIp, parseIpRange } from '../lib/net/ip.ts';
import { platforms } from '../platforms/index.ts';
import type { CheckSettings } from './flags/read-only-settings.ts';
import type { CommandOutput } from './output/output-schemas.ts';
import { formatStructured } from './output/structured-output.ts';
import {
  type ReadOnlyCommandContext,
  type ReadOnlySession,
  withReadOnlySession,
} from './read-only/read-only-session.ts';
import { selectProviderConfig } from './read-only/select-provider-config.ts';

/**
 * Prints the problems of a ProviderConfig by field. Returns whether there are none. Throws when the check cannot run.
 */
export async function runCheck(options: CheckSettings & ReadOnlyCommandContext): Promise<boolean> {
  const { name, findings } = await withReadOnlySession(options, (at) => collectDiagnostics(at, options.providerConfig));
  const isRight = findings.every(isAdvisory);
  if (options.output !== 'text') {
    options.print(formatStructured(toCheckOutput(name, findings, isRight), options.output));
    return isRight;
  }
  for (const { field, message } of findings) options.print(`${field}: ${message}`);
  if (isRight) options.print(`ProviderConfig ${name}: no problems found.`);
  return isRight;
}

const toCheckOutput = (
  providerConfig: string,
  findings: readonly Diagnostic[],
  isValid: boolean,
): CommandOutput<'check'> => ({
  ...{ providerConfig, isValid },
  findings: findings.map(({ field, reason, message, advice }) => ({
    ...{ field, reason, message },
    isAdvice: advice === true,
  })),
});

const isAdvisory = ({ advice }: Diagnostic): boolean => advice === true;

async function collectDiagnostics(at: ReadOnlySession, wanted: string | undefined) {
  const { kube, leasesOf, signal } = at;
  const providerConfigs = new ObjectStore<ProviderConfig>();
  providerConfigs.replace((await kube.list(ProviderConfig, {}, signal)).items);
  const config = selectProviderConfig(providerConfigs.list(), wanted);
  const { name } = config.metadata;
  const addresses = leasesOf(config.spec?.providerRef?.name ?? '');
  const checked = await validateProviderConfig({ platforms, addresses, stores: { providerConfigs } }, config, signal);
  if ('findings' in checked) return { name, findings: checked.findings };
  const parsed = parseSpec(config);
  return { name, findings: parsed.success ? await checkSites(at, checked.chosen, name, parsed.data) : [] };
}

/** A problem that a change would solve is a Diagnostic. An unreachable platform is not one: it is thrown. */
async function checkSites(
  at: ReadOnlySession,
  { platform, config }: ChosenPlatform,
  name: string,
  spec: ProviderConfigSpec,
): Promise<readonly Diagnostic[]> {
  const names = platform.failureDomains.names(config);
  const machines = assignSlotsToSites(names, name, spec);
  const { findings, errors } = await checkFailureDomains(failureDomainsOrDefault(names), async (failureDomain) => {
    const field = platform.failureDomains.fieldAt(config, failureDomain, `${platform.name}.credentialsRef`);
    const found: Diagnostic[] = [];
    try {
      const secret = platform.config.credentialsRef(config, failureDomain);
      const credentials = secret === undefined ? {} : await at.credentials(secret);
      const here = machines.filter((machine) => machine.failureDomain === failureDomain);
      found.push(...(await platform.check({ ...at, config, failureDomain, credentials })));
      // A file has no platform cluster around it, so the clusters of the ProviderConfig are not known.
      if (at.isFile)
        found.push(
          ...(await runPreflight(at, { platform, config }, { failureDomain, credentials, machines: here }, spec)),
        );
    } catch (error) {
      if (!(error instanceof ProviderError) || error.retry !== 'after-change') throw error;
      // The first check has already reported what keeps the second from running.
      if (found.every(isAdvisory)) found.push({ field, reason: error.code, message: error.message });
    }
    return found;
  });
  const [first] = errors;
  if (first && findings.every(isAdvisory)) throw first.error;
  return [
    ...findings,
    ...errors.map((one) => ({
      field: platform.name,
      reason: one.error.code,
      message: describeFailureDomainError(one),
    })),
  ];
}

/** The machines of a cluster, each with its failure domain. */
function assignSlotsToSites(names: readonly string[], name: string, spec: ProviderConfigSpec): MachineSlot[] {
  const slots = listDesiredSlots({
    ref: { namespace: 'default', name },
    spec,
    secrets: undefined,
    machines: [],
    nodePools: [],
  });
  const made: MachineSlot[] = [];
  for (const slot of slots) made.push({ ...slot, failureDomain: chooseFailureDomain(names, slot.pool, made, made) });
  return made;
}

/** The resources that the platform lacks for one cluster. */
async function runPreflight(
  at: ReadOnlySession,
  { platform, config }: Pick<ChosenPlatform, 'platform' | 'config'>,
  here: Pick<Parameters<ChosenPlatform['platform']['preflight']>[0], 'failureDomain' | 'credentials' | 'machines'>,
  spec: ProviderConfigSpec,
): Promise<readonly Diagnostic[]> {
  const { version, factoryUrl, extensions, kernelArguments } = spec.talos;
  const ranges = (spec.network.addressPool ?? []).flatMap((text) => parseIpRange(text) ?? []);
  return await platform.preflight({
    ...at,
    ...{ config, ...here },
    talos: { version, factoryUrl, schematic: { extensions, kernelArguments } },
    isPoolAddress: (text) => {
      const address = parseIp(text);
      return address !== undefined && ranges.some((range) => ipRangesOverlap(range, address));
    },
  });
}
