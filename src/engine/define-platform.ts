import type { Addressing } from './addressing.ts';
import type { FailureDomains, InFailureDomain } from './capabilities/failure-domains.ts';
import type { HostContext, HostInventory } from './capabilities/hosts.ts';
import type { OrphanCapability, OrphanContext, OrphanRemovalContext } from './capabilities/orphans.ts';
import type { RepairCapability, RepairContext } from './capabilities/repair.ts';
import type { PlatformContext, StepContext } from './contexts.ts';
import type { Diagnostic } from './diagnostic.ts';
import type { ObserveAllContext } from './observation.ts';
import type { Platform, PlatformSpec } from './platform.ts';
import type { Facts, Step } from './step.ts';

const noFailover = Promise.resolve(undefined);
const defaultAddressing: Addressing = { pool: 'main', endpoint: 'virtual-address' };

/** The part of a context that names the section. */
interface FailureDomainScoped {
  readonly config: unknown;
  readonly failureDomain?: string | undefined;
  readonly node?: { readonly failureDomain?: string | undefined };
  readonly facts?: Facts;
}

/**
 * Closes over the types of the configuration. Every entry point parses the raw section again, so a step never sees an
 * invalid section, and only its own failure domain of it.
 */
export function definePlatform<C, S = C>(spec: PlatformSpec<C, S>): Platform {
  const parse = (section: unknown): S => spec.config.parse(section);
  // Without failure domains the steps see the section itself.
  const {
    names = () => [],
    at = (section) => section as unknown as C,
    fieldAt = (_, __, field) => field,
  } = spec.failureDomains ?? ({} as Partial<FailureDomains<S, C>>);
  const narrow = (section: unknown, failureDomain?: string, facts: Facts = {}): C =>
    at(parse(section), failureDomain, facts);
  const typed = <T extends FailureDomainScoped>(context: T) => ({
    ...context,
    config: narrow(context.config, context.node?.failureDomain ?? context.failureDomain, context.facts),
  });
  const close = <T extends FailureDomainScoped>(step: Step<Omit<T, 'config'> & { config: C }>): Step<T> => ({
    ...step,
    run: (context) => step.run(typed(context)),
  });
  const renamed = (
    findings: readonly Diagnostic[],
    { config, failureDomain }: FailureDomainScoped,
  ): readonly Diagnostic[] =>
    findings.map((finding) => ({ ...finding, field: fieldAt(parse(config), failureDomain, finding.field) }));
  const closeInventory = ({
    mayClaim,
    whyUnsuitable,
    whyUnusable,
    listServers,
    identify,
    ...tasks
  }: HostInventory<C>): HostInventory<unknown> => ({
    mayClaim: (config, labels) => mayClaim(narrow(config), labels),
    whyUnsuitable: (config, host, node) => whyUnsuitable(narrow(config), host, node),
    whyUnusable,
    listServers,
    identify: (context) => identify(typed(context)),
    inspect: tasks.inspect.map((step) => close<HostContext>(step)),
    reboot: tasks.reboot.map((step) => close<HostContext>(step)),
  });
  const closeMending = ({ steps: repair, recover, cutPower }: RepairCapability<C>): RepairCapability => ({
    steps: repair.map((step) => close<RepairContext>(step)),
    recover: (context) => recover(typed(context)),
    ...(cutPower && { cutPower: (context: StepContext) => cutPower(typed(context)) }),
  });
  const closeOrphans = ({ find, remove }: OrphanCapability<C>): OrphanCapability<unknown> => ({
    find: (context: OrphanContext) => find(typed(context)),
    remove: remove.map((step) => close<OrphanRemovalContext>(step)),
  });
  return {
    name: spec.name,
    config: spec.config,
    failureDomains: {
      names: (section) => names(parse(section)),
      at: narrow,
      fieldAt: (section, failureDomain, field) => fieldAt(parse(section), failureDomain, field),
    },
    credentialsRef: (section, failureDomain, facts) => spec.credentialsRef(narrow(section, failureDomain, facts)),
    sizes: (section) => spec.sizes(parse(section)),
    foreignHosts: (section) => spec.foreignHosts(parse(section)),
    addressing: (section) => spec.addressing?.(parse(section)) ?? defaultAddressing,
    alwaysNeedsPool: spec.addressing === undefined,
    check: async (context) => renamed(await spec.check(typed(context)), context),
    preflight: async (context) => renamed((await spec.preflight?.(typed(context))) ?? [], context),
    provision: spec.provision.map((step) => close<StepContext>(step)),
    postJoin: (spec.postJoin ?? []).map((step) => close<StepContext>(step)),
    release: spec.release.map((step) => close<StepContext>(step)),
    ...(spec.lostReasons && { lostReasons: spec.lostReasons }),
    ...(spec.unprovenReasons && { unprovenReasons: spec.unprovenReasons }),
    observe: (context) => spec.observe(typed(context)),
    preview: async (context) => (await spec.preview?.(typed(context))) ?? [],
    hardware: (context) => spec.hardware?.(typed(context)),
    previewShared: async (context) => (await spec.previewShared?.(typed(context))) ?? [],
    ...(spec.reservedMac && { reservedMac: spec.reservedMac }),
    ...(spec.hosts && { hosts: closeInventory(spec.hosts) }),
    ...(spec.repair && { repair: closeMending(spec.repair) }),
    ...(spec.orphans && { orphans: closeOrphans(spec.orphans) }),
    ...(spec.observeAll && {
      observeAll: async (context: ObserveAllContext) => (await spec.observeAll?.(typed(context))) ?? [],
    }),
    ...(spec.listen && {
      listen: (context: PlatformContext & InFailureDomain, listener: () => void) =>
        spec.listen?.(typed(context), listener) ?? (() => {}),
    }),
    ...(spec.collectGarbage && {
      collectGarbage: async (context) => (await spec.collectGarbage?.(typed(context))) ?? [],
    }),
    ...(spec.failOverEndpoint && {
      failOverEndpoint: (context) => spec.failOverEndpoint?.(typed(context)) ?? noFailover,
    }),
  };
}
