import { parse as parseVersion } from 'semver';
import { errorList } from './config-error.ts';
import { type ConfigView, imageVersionOf, viewOf } from './config-view.ts';
import type { MachineConfig } from './decode-config.ts';
import { textAt } from './fields.ts';
import { documentErrors } from './validate-documents.ts';
import { v1alpha1Errors } from './validate-v1alpha1.ts';

/** The state of a node that validation depends on. */
export interface ValidationContext {
  readonly minor: number;
  readonly version: string;
  /** `metal` requires install instructions, `cloud` does not. */
  readonly mode: 'metal' | 'cloud';
  readonly installed: boolean;
  /** Whether `install.diskSelector` finds a disk of this machine. */
  readonly selectorFits: (selector: Readonly<Record<string, unknown>>) => boolean;
}

export interface ConfigVerdict {
  /** Error messages; empty when the node accepts the configuration. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Validates a decoded configuration like the node (talos: pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go
 * and the documents' own files): rules of the v1alpha1 document, of each document, between both, and against the
 * running system.
 */
export function validateConfig(config: MachineConfig, context: ValidationContext): ConfigVerdict {
  const verdict = validateStatically(config, context);
  if (verdict.errors.length > 0) return verdict;
  return { ...verdict, errors: runtimeErrors(config, viewOf(config), context) };
}

/** The validation of an installer: it knows neither the running system nor that it is installed. */
export const validateAsClient = (config: MachineConfig, context: ValidationContext): ConfigVerdict =>
  validateStatically(config, { ...context, installed: false });

function validateStatically(config: MachineConfig, context: ValidationContext): ConfigVerdict {
  const view = viewOf(config);
  const legacy = config.legacy ? v1alpha1Errors(config.legacy, view, context) : { errors: [], warnings: [] };
  const errors = [
    ...(legacy.errors.length > 0 ? [`v1alpha1.Config: ${errorList(legacy.errors)}`] : []),
    ...documentErrors(config, view, context),
  ];
  return { errors, warnings: legacy.warnings };
}

/** Checks against the running Talos: supported Kubernetes versions, existing disks. */
function runtimeErrors(config: MachineConfig, view: ConfigView, context: ValidationContext): string[] {
  if (!config.legacy) return [];
  const control = view.type === 'controlplane' || view.type === 'init';
  const images: (readonly [string, string])[] = [
    ['kubelet', imageOf(config, 'machine.kubelet.image', 'KubeletConfig')],
  ];
  if (control) {
    images.push(['kube-apiserver', imageOf(config, 'cluster.apiServer.image', 'KubeAPIServerConfig')]);
    images.push([
      'kube-controller-manager',
      imageOf(config, 'cluster.controllerManager.image', 'KubeControllerManagerConfig'),
    ]);
    images.push(['kube-scheduler', imageOf(config, 'cluster.scheduler.image', 'KubeSchedulerConfig')]);
  }
  const errors = images.flatMap(([name, image]) => {
    const problem = image === '' ? undefined : imageProblem(image, context);
    return problem === undefined ? [] : [`v1alpha1.Config: ${name} image is not valid: ${problem}`];
  });
  const selector = view.install?.diskSelector ?? {};
  const needsDisk = context.mode === 'metal' && !context.installed && Object.keys(selector).length > 0;
  if (needsDisk && view.install?.disk === '' && !context.selectorFits(selector)) {
    errors.push(`v1alpha1.Config: no disks matched the expression: ${JSON.stringify(selector)}`);
  }
  return errors;
}

const imageOf = (config: MachineConfig, path: string, kind: string): string =>
  textAt(config.documents.find((document) => document.kind === kind)?.body, 'image') || textAt(config.legacy, path);

/** The first and the last Kubernetes minor that Talos 1.`minor` supports (talos: pkg/machinery/compatibility). */
export const kubernetesWindow = (minor: number): readonly [number, number] => [minor + 18, minor + 23];

function imageProblem(image: string, context: ValidationContext): string | undefined {
  const version = imageVersionOf(image);
  const parsed = version === '' ? null : parseVersion(version.replace(/-(?:fat|slim)$/, ''));
  if (!parsed) {
    const inner = version === '' ? `invalid image reference: "${image}"` : `Invalid character(s) found in "${version}"`;
    return `failed to parse Kubernetes version from image reference "${image}": ${inner}`;
  }
  const [oldest, newest] = kubernetesWindow(context.minor);
  if (parsed.minor < oldest)
    return `version of Kubernetes ${version} is too old to be used with Talos ${context.version}`;
  if (parsed.minor > newest)
    return `version of Kubernetes ${version} is too new to be used with Talos ${context.version}`;
  return undefined;
}
