import semver from 'semver';
import type { ConditionReason } from '../../../api/conditions.ts';
import type { ProviderConfigSpec } from '../../../api/provider-config-spec.ts';
import { firstTalosFor, minorOf, runsKubernetes, withoutLeadingV } from '../../../talos/versions.ts';
import { chooseOfferedVersion, isMinorOnly } from '../../cluster/kubernetes-version.ts';
import { minorDistance, newerVersion } from './versions.ts';

/** One step of an upgrade: to a later patch, or to the next minor. */
export interface UpgradeHop {
  readonly from: string;
  readonly to: string;
  /** The version at the end of all hops. */
  readonly target: string;
}

/** What an upgrade depends on. */
export interface VersionInput {
  /** The version of the cluster record. */
  readonly running: string;
  /** `spec.kubernetes.version` of the Cluster, without a leading `v`. */
  readonly desired: string | undefined;
  readonly spec: Pick<ProviderConfigSpec, 'kubernetes' | 'talos'>;
  /** The newest version that an API server of the cluster was seen with: from then on there is no way back. */
  readonly newestApiServer: string | undefined;
  /** The Talos version of each Machine. */
  readonly talos: readonly { readonly machine: string; readonly version: string }[];
}

export interface VersionRejection {
  readonly reason: ConditionReason & ('VersionNotOffered' | 'VersionChangeRejected');
  readonly message: string;
}

/** Where the cluster goes. Both `refused` and `hop`: the request is refused, and an upgrade that has begun goes on. */
export interface VersionDecision {
  readonly hop?: UpgradeHop;
  /** Why the hop may not begin yet. */
  readonly waits?: string;
  readonly refused?: VersionRejection;
}

const field = 'spec.kubernetes.version';

/** Decides from the request, the offered versions and what runs. */
export function decideTargetVersion(input: VersionInput): VersionDecision {
  const { running, newestApiServer } = input;
  const begun = newestApiServer && semver.gt(newestApiServer, running) ? newestApiServer : undefined;
  const target = chooseTarget(input, begun);
  if (typeof target !== 'string') return { refused: target, ...(begun && { hop: continueHop(running, begun) }) };
  if (begun) return decideBegunUpgrade(input, begun, target);
  if (semver.lt(target, running)) {
    const message = `${field}: the cluster runs ${running}, and Kubernetes cannot be taken back to ${target}. Restore ${running}.`;
    return { refused: { reason: 'VersionChangeRejected', message } };
  }
  if (semver.eq(target, running)) return {};
  const path = findNextVersion(input.spec, running, target);
  if (typeof path !== 'string') return { refused: path };
  return decideTalos(input, { from: running, to: path, target });
}

const continueHop = (from: string, to: string): UpgradeHop => ({ from, to, target: to });

/** A hop that has begun ends at its version, or at a later patch of it, e.g. because the first one has a defect. */
function decideBegunUpgrade({ running, spec }: VersionInput, begun: string, target: string): VersionDecision {
  if (semver.lt(target, begun)) {
    const message = `${field}: the upgrade to ${begun} has begun, and API servers run it: it cannot be taken back to ${target} and is finished. Set ${begun}.`;
    return { refused: { reason: 'VersionChangeRejected', message }, hop: continueHop(running, begun) };
  }
  const next = findNextVersion(spec, running, target);
  const isSameMinor = typeof next === 'string' && minorOf(next) === minorOf(begun);
  const to = isSameMinor ? newerVersion(next, begun) : begun;
  return { hop: { from: running, to, target }, ...(typeof next === 'string' ? {} : { refused: next }) };
}

/** The version that is asked for. A minor stays satisfied by a running patch that is not offered any more. */
function chooseTarget({ running, desired, spec }: VersionInput, begun: string | undefined): string | VersionRejection {
  if (desired === undefined || desired === '') return begun ?? running;
  const known = begun === undefined ? [running] : [running, begun];
  if (known.includes(desired)) return desired;
  const offered = chooseOfferedVersion(spec, desired);
  const present = isMinorOnly(desired) ? known.filter((version) => minorOf(version) === desired) : [];
  const best = [...present, ...(offered === undefined ? [] : [offered])].sort(semver.rcompare)[0];
  if (best !== undefined) return best;
  const all = spec.kubernetes.versions.map(({ version }) => version).join(', ');
  const message = `${field}: ${desired} is not offered, and the cluster runs ${running}. Use one of ${all}, or restore ${running}.`;
  return { reason: 'VersionNotOffered', message };
}

/** The next version on the way: API servers and kubelets allow one minor at a time. */
function findNextVersion(spec: VersionInput['spec'], running: string, target: string): string | VersionRejection {
  const distance = minorDistance(running, target);
  if (distance <= 1) return target;
  const { major, minor } = semver.parse(running) ?? new semver.SemVer('0.0.0');
  const between = Array.from({ length: distance - 1 }, (_, i) => `${major}.${minor + i + 1}`);
  const missing = between.filter((one) => chooseOfferedVersion(spec, one) === undefined);
  const [first] = between.map((one) => chooseOfferedVersion(spec, one));
  if (missing.length === 0 && first !== undefined) return first;
  const message = `${field}: from ${running} to ${target} a cluster is upgraded one minor at a time, and no version of ${missing.join(', ')} is offered. Add one to kubernetes.versions of the ProviderConfig, or restore ${running}.`;
  return { reason: 'VersionChangeRejected', message };
}

/** Talos goes first where both change, unless the next Talos no longer runs the present Kubernetes. */
function decideTalos({ running, spec, talos }: VersionInput, hop: UpgradeHop): VersionDecision {
  const desired = withoutLeadingV(spec.talos.version);
  const unfit = talos.filter(({ version }) => !runsKubernetes(version, hop.to));
  const behind = talos.filter(({ version }) => withoutLeadingV(version) !== desired);
  const count = `${talos.length - behind.length} of ${talos.length} machines run Talos ${desired}`;
  if (unfit.length > 0 && (behind.length === 0 || !runsKubernetes(desired, hop.to))) {
    const needed = firstTalosFor(hop.to);
    const remedy =
      needed === undefined
        ? 'No supported Talos runs it.'
        : `It needs Talos ${needed} or newer: change talos.version of the ProviderConfig.`;
    const message = `${field}: Talos ${unfit[0]?.version} on ${unfit[0]?.machine} does not run Kubernetes ${hop.to}. ${remedy}`;
    return { refused: { reason: 'VersionChangeRejected', message } };
  }
  const goesFirst = unfit.length > 0 || (behind.length > 0 && runsKubernetes(desired, running));
  if (!goesFirst) return { hop };
  return { hop, waits: `Kubernetes ${hop.to} waits for the upgrade of Talos: ${count}.` };
}
