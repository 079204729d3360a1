import type { Addressing } from './addressing.ts';
import type { FailureDomains } from './capabilities/failure-domains.ts';
import type { GarbageCapability } from './capabilities/garbage.ts';
import type { HardwareCapability } from './capabilities/hardware.ts';
import type { HostContext, HostInventory } from './capabilities/hosts.ts';
import type { MonitorCapability } from './capabilities/monitor.ts';
import type { OrphanCapability, OrphanRemovalContext } from './capabilities/orphans.ts';
import type { ClosedPreviewCapability, PreviewCapability } from './capabilities/preview.ts';
import type { RepairCapability, RepairContext } from './capabilities/repair.ts';
import type { StepContext } from './contexts.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { Platform, PlatformCapabilities, PlatformSpec } from './platform.ts';
import type { Facts, Step } from './step.ts';

const defaultAddressing: Addressing = { pool: 'main', endpoint: 'virtual-address' };

/** The part of a context that names the section. */
interface FailureDomainScoped {
  readonly config: unknown;
  readonly failureDomain?: string | undefined;
  readonly node?: { readonly failureDomain?: string | undefined };
  readonly facts?: Facts;
}

/** Replaces the section in contexts by the configuration of one failure domain. */
interface Narrowing<C> {
  config(section: unknown, failureDomain?: string, facts?: Facts): C;
  context<T extends FailureDomainScoped>(context: T): T & { config: C };
  steps<T extends FailureDomainScoped>(list: readonly Step<Omit<T, 'config'> & { config: C }>[]): readonly Step<T>[];
}

/**
 * Closes over the types of the configuration. Every entry point parses the raw section again, so a step never sees an
 * invalid section, and only its own failure domain of it.
 */
export function definePlatform<C, S = C>(spec: PlatformSpec<C, S>): Platform {
  const parse = (section: unknown): S => spec.config.schema.parse(section);
  // Without failure domains the steps see the section itself.
  const {
    names = () => [],
    at = (section) => section as unknown as C,
    fieldAt = (_, __, field) => field,
  } = spec.failureDomains ?? ({} as Partial<FailureDomains<S, C>>);
  const narrow = createNarrowing<C>((section, failureDomain, facts) => at(parse(section), failureDomain, facts));
  const withFieldPaths = (findings: readonly Diagnostic[], { config, failureDomain }: FailureDomainScoped) =>
    findings.map((finding) => ({ ...finding, field: fieldAt(parse(config), failureDomain, finding.field) }));
  const { hosts, reconfigure, hardware, repair, garbage, endpoint, loss, network = {} } = spec;
  return {
    name: spec.name,
    config: {
      schema: spec.config.schema,
      credentialsRef: (section, failureDomain, facts) =>
        spec.config.credentialsRef(narrow.config(section, failureDomain, facts)),
      foreignHosts: (section) => spec.config.foreignHosts?.(parse(section)) ?? [],
      specRules: spec.config.specRules ?? [],
    },
    isExternal: spec.managedBy !== undefined,
    managedBy: (section) => spec.managedBy?.(parse(section)),
    sizes: (section) => spec.sizes(parse(section)),
    check: async (context) => withFieldPaths(await spec.check(narrow.context(context)), context),
    provision: narrow.steps<StepContext>(spec.provision),
    release: narrow.steps<StepContext>(spec.release),
    observe: (context) => spec.observe(narrow.context(context)),
    failureDomains: {
      names: (section) => names(parse(section)),
      at: narrow.config,
      fieldAt: (section, failureDomain, field) => fieldAt(parse(section), failureDomain, field),
    },
    network: {
      ...network,
      addressing: (section) => network.addressing?.(parse(section)) ?? defaultAddressing,
      alwaysNeedsPool: network.addressing === undefined,
    },
    preflight: async (context) => withFieldPaths((await spec.preflight?.(narrow.context(context))) ?? [], context),
    providerIdOf: spec.providerIdOf ?? (({ providerId }) => (typeof providerId === 'string' ? providerId : undefined)),
    postJoin: narrow.steps<StepContext>(spec.postJoin ?? []),
    monitor: closeMonitor(spec.monitor ?? {}, narrow),
    preview: closePreview(spec.preview, narrow),
    ...closeStatusCapabilities(spec, narrow),
    ...(spec.errorCodes && { errorCodes: spec.errorCodes }),
    ...(loss && { loss }),
    ...(spec.shortageReasons && { shortageReasons: spec.shortageReasons }),
    ...(spec.sizeHardware && { sizeHardware: (section, size) => spec.sizeHardware?.(parse(section), size) }),
    ...(hosts && { hosts: closeHosts(hosts, narrow) }),
    ...(reconfigure && {
      reconfigure: { hardware: (context) => reconfigure.hardware(narrow.context(context)) },
    }),
    ...(hardware && { hardware: closeHardware(hardware, narrow) }),
    ...(repair && { repair: closeRepair(repair, narrow) }),
    ...(garbage && { garbage: closeGarbage(garbage, narrow) }),
    ...(endpoint && { endpoint: { failOver: (context) => endpoint.failOver(narrow.context(context)) } }),
  };
}

function createNarrowing<C>(
  at: (section: unknown, failureDomain: string | undefined, facts: Facts) => C,
): Narrowing<C> {
  const config: Narrowing<C>['config'] = (section, failureDomain, facts = {}) => at(section, failureDomain, facts);
  const context = <T extends FailureDomainScoped>(given: T) => ({
    ...given,
    config: config(given.config, given.node?.failureDomain ?? given.failureDomain, given.facts),
  });
  return {
    config,
    context,
    steps: (list) => list.map((step) => ({ ...step, run: (given) => step.run(context(given)) })),
  };
}

const closeMonitor = <C>({ observeAll, listen }: MonitorCapability<C>, narrow: Narrowing<C>): Platform['monitor'] => ({
  ...(observeAll && { observeAll: (context) => observeAll(narrow.context(context)) }),
  ...(listen && { listen: (context, listener) => listen(narrow.context(context), listener) }),
});

const closePreview = <C>(preview: PreviewCapability<C> | undefined, narrow: Narrowing<C>): ClosedPreviewCapability => ({
  machine: async (context) => (await preview?.machine(narrow.context(context))) ?? [],
  cluster: async (context) => (await preview?.cluster?.(narrow.context(context))) ?? [],
  hardware: (context) => preview?.hardware?.(narrow.context(context)),
});

const closeStatusCapabilities = <C>(
  { console, usage }: Pick<PlatformCapabilities<C>, 'console' | 'usage'>,
  narrow: Narrowing<C>,
): Pick<Platform, 'consoleLinks' | 'usage'> => ({
  consoleLinks: (section, failureDomain, facts) =>
    console?.links(narrow.config(section, failureDomain, facts), facts) ?? [],
  ...(usage && { usage: { read: (context) => usage.read(narrow.context(context)) } }),
});

const closeHosts = <C>(hosts: HostInventory<C>, narrow: Narrowing<C>): HostInventory<unknown> => ({
  schemas: hosts.schemas,
  mayClaim: (config, labels) => hosts.mayClaim(narrow.config(config), labels),
  whyUnsuitable: (config, host, node) => hosts.whyUnsuitable(narrow.config(config), host, node),
  whyUnusable: hosts.whyUnusable,
  listServers: hosts.listServers,
  identify: (context) => hosts.identify(narrow.context(context)),
  inspect: narrow.steps<HostContext>(hosts.inspect),
  reboot: narrow.steps<HostContext>(hosts.reboot),
});

const closeHardware = <C>(hardware: HardwareCapability<C>, narrow: Narrowing<C>): HardwareCapability => ({
  describe: (context) => hardware.describe(narrow.context(context)),
  compare: (context) => hardware.compare(narrow.context(context)),
  admission: narrow.steps<StepContext>(hardware.admission),
  steps: narrow.steps<StepContext>(hardware.steps),
});

const closeRepair = <C>(
  { steps, restartAttempts, recover, cutPower }: RepairCapability<C>,
  narrow: Narrowing<C>,
): RepairCapability => ({
  steps: narrow.steps<RepairContext>(steps),
  ...(restartAttempts !== undefined && { restartAttempts }),
  ...(recover && { recover: (context) => recover(narrow.context(context)) }),
  ...(cutPower && { cutPower: (context) => cutPower(narrow.context(context)) }),
});

const closeGarbage = <C>(garbage: GarbageCapability<C>, narrow: Narrowing<C>): GarbageCapability => {
  const { sharedResources, findUnneeded, orphans } = garbage;
  return {
    ...(sharedResources && { sharedResources: (context) => sharedResources(narrow.context(context)) }),
    ...(findUnneeded && { findUnneeded: (context, retained) => findUnneeded(narrow.context(context), retained) }),
    ...(orphans && { orphans: closeOrphans(orphans, narrow) }),
  };
};

const closeOrphans = <C>({ find, remove }: OrphanCapability<C>, narrow: Narrowing<C>): OrphanCapability<unknown> => ({
  find: (context) => find(narrow.context(context)),
  remove: narrow.steps<OrphanRemovalContext>(remove),
});
