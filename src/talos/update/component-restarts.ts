import type { TalosClient } from '../client/client.ts';
import type { TalosCallOptions } from '../client/connection.ts';
import { resourceKinds } from '../client/resources.ts';
import { isRecord } from '../config/config-document.ts';
import { readFact, restartsComponents, type UpdateStepContext, updateFacts } from './update-context.ts';

type Reader = Pick<TalosClient, 'findResource'>;

/** Talos renders what its components start with within moments of a new configuration. */
const renderSeconds = 2;

/**
 * Why components that restart for a configuration are not proven to run with it; undefined if they are, or if none
 * restarts. Only the kubelet is asked for here: until it restarts, the node is as ready as before, and a Node whose kubelet
 * does not start stays Ready for another 40 seconds.
 */
export async function findRestartProblem(
  client: Reader,
  { facts, clock }: Pick<UpdateStepContext, 'facts' | 'clock'>,
  options: TalosCallOptions,
): Promise<string | undefined> {
  if (!restartsComponents(facts)) return undefined;
  const activeAt = Date.parse(readFact(facts, updateFacts.activeSince));
  if (clock.now().getTime() < activeAt + renderSeconds * 1000)
    return 'Talos restarts the components whose configuration has changed.';
  if (facts[updateFacts.restartsKubelet] !== true) return undefined;
  return await findKubeletProblem(client, readFact(facts, updateFacts.kubeletBefore), options);
}

interface KubeletState {
  /** The version of what it is started with, and when the running one was started, if one runs. */
  readonly run: string;
  readonly isHealthy: boolean;
}

async function readKubelet(client: Reader, options: TalosCallOptions): Promise<KubeletState> {
  const spec = await client.findResource(resourceKinds.kubelet, 'kubelet', options);
  const service = await client.findResource(resourceKinds.service, 'kubelet', options);
  const { healthy, unknown } = isRecord(service?.spec) ? service.spec : {};
  return {
    run: `${spec?.version ?? 0} ${service?.created?.toISOString() ?? 'stopped'}`,
    // Unknown until the first check, seconds after the start.
    isHealthy: healthy === true && unknown !== true,
  };
}

/** What identifies the present run of the kubelet, for a comparison after the change. */
export const describeKubelet = async (client: Reader, options: TalosCallOptions): Promise<string> =>
  (await readKubelet(client, options)).run;

/**
 * Talos stops the kubelet for each change of its specification and starts it again, which makes the resource of the service
 * anew (`k8s/kubelet_service.go`, `v1alpha1/service.go`). A setting that it had by default changes no specification.
 */
async function findKubeletProblem(
  client: Reader,
  before: string,
  options: TalosCallOptions,
): Promise<string | undefined> {
  const { run, isHealthy } = await readKubelet(client, options);
  const [version, start] = run.split(' ');
  const [formerVersion, formerStart] = before.split(' ');
  const isRestarted = version === formerVersion || start !== formerStart;
  if (isRestarted && isHealthy) return undefined;
  return 'The kubelet restarts with its new settings. If this lasts, its log tells why: talosctl logs kubelet.';
}
