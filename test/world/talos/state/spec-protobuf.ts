import { fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { booleanField, bytesField, encodeMessage } from './protobuf.ts';
import type { CosiResource } from './resources.ts';

interface AuthoritiesSpec {
  readonly issuingCA: { readonly crt: string; readonly key: string } | null;
  readonly acceptedCAs: readonly { readonly crt: string }[];
}

/**
 * The protobuf form of specs, by type, of the fields that talosctl reads (talos: api/resource/definitions). It does not read
 * the YAML form of types that it knows: to it, a resource without this form is empty.
 */
const encoders: Readonly<Record<string, (spec: never) => Buffer>> = {
  'APIServerConfigs.kubernetes.talos.dev': ({ image }: { image: string }) => bytesField(1, image),
  'ControllerManagerConfigs.kubernetes.talos.dev': encodeComponentConfig,
  'SchedulerConfigs.kubernetes.talos.dev': encodeComponentConfig,
  'KubeletSpecs.kubernetes.talos.dev': ({ image, args }: { image: string; args?: Record<string, string[]> }) => {
    const flags = Object.entries(args ?? {}).flatMap(([flag, values]) => values.map((value) => `--${flag}=${value}`));
    return encodeMessage(bytesField(1, image), ...flags.map((flag) => bytesField(2, flag)));
  },
  'Manifests.kubernetes.talos.dev': (items: JsonObject[]) =>
    encodeMessage(...items.map((item) => bytesField(1, bytesField(1, encodeStruct(item))))),
  'StaticPods.kubernetes.talos.dev': (pod: JsonObject) => bytesField(1, encodeStruct(pod)),
  'StaticPodStatuses.kubernetes.talos.dev': (status: JsonObject) => bytesField(1, encodeStruct(status)),
  'Services.v1alpha1.talos.dev': (spec: { running: boolean; healthy: boolean; unknown: boolean }) =>
    encodeMessage(booleanField(1, spec.running), booleanField(2, spec.healthy), booleanField(3, spec.unknown)),
  'OSRootSecrets.secrets.talos.dev': (spec: AuthoritiesSpec) => encodeAuthorities(spec, 1, 5),
  'KubernetesRootSecrets.secrets.talos.dev': (spec: AuthoritiesSpec) => encodeAuthorities(spec, 7, 15),
};

/** Undefined for a type whose clients read YAML. */
export const protoSpecOf = ({ type, spec, proto }: CosiResource): Uint8Array | undefined =>
  proto ?? encoders[type]?.(spec as never);

const encodeStruct = (value: JsonObject): Uint8Array => toBinary(StructSchema, fromJson(StructSchema, value));

function encodeComponentConfig({ image }: { readonly image: string }): Buffer {
  return encodeMessage(booleanField(1, true), bytesField(2, image));
}

function encodeAuthorities({ issuingCA, acceptedCAs }: AuthoritiesSpec, issuingField: number, acceptedField: number) {
  const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
  const pair = issuingCA && encodeMessage(bytesField(1, bytes(issuingCA.crt)), bytesField(2, bytes(issuingCA.key)));
  return encodeMessage(
    ...(pair ? [bytesField(issuingField, pair)] : []),
    ...acceptedCAs.map(({ crt }) => bytesField(acceptedField, bytesField(1, bytes(crt)))),
  );
}
