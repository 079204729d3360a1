import { badRequestError, unsupportedMediaTypeError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import { type ProtobufField, type ProtobufMessage, protobufKinds } from './messages.ts';
import { readFields, type WireField } from './wire-format.ts';

/**
 * Kubernetes objects as protobuf: four magic bytes, then a `runtime.Unknown` with the kind and the bytes of the object
 * (`apimachinery: pkg/runtime/serializer/protobuf`). kubectl sends its reviews and the objects of `kubectl create` in
 * this form.
 */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

export const protobufContentType = 'application/vnd.kubernetes.protobuf';

/** The object of such a body in JSON form. Throws 400 for an invalid body, 415 for kinds without known fields. */
export function decodeProtobuf(body: Buffer): JsonObject {
  if (!body.subarray(0, 4).equals(magic)) {
    throw badRequestError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const unknown = readFields(body.subarray(4));
  const type = readFields(bytesOf(unknown.find((field) => field.number === 1)));
  const word = (number: number): string => bytesOf(type.find((field) => field.number === number)).toString('utf8');
  const [apiVersion, kind] = [word(1), word(2)];
  const message = protobufKinds[`${apiVersion}/${kind}`];
  if (!message) throw unsupportedMediaTypeError(['application/json', 'application/yaml']);
  return { apiVersion, kind, ...toJson(message, bytesOf(unknown.find((field) => field.number === 2))) };
}

const bytesOf = (field: WireField | undefined): Buffer => (Buffer.isBuffer(field?.value) ? field.value : Buffer.of());

/** Zero values are dropped, as by `omitempty`; unknown field numbers are ignored. */
function toJson(message: ProtobufMessage, bytes: Buffer): JsonObject {
  const made: JsonObject = {};
  for (const wire of readFields(bytes)) {
    const field = message[wire.number];
    if (field) put(made, field, wire);
  }
  return made;
}

function put(made: JsonObject, { name, kind, of, repeated }: ProtobufField, wire: WireField): void {
  if (kind === 'map') {
    const entry = readFields(bytesOf(wire));
    const key = bytesOf(entry.find((field) => field.number === 1)).toString('utf8');
    const value = entry.find((field) => field.number === 2);
    made[name] = { ...(made[name] as JsonObject | undefined), [key]: scalar(of === 'bytes' ? 'bytes' : 'text', value) };
    return;
  }
  const value = kind === 'message' ? toJson(of as ProtobufMessage, bytesOf(wire)) : scalar(kind, wire);
  if (repeated) made[name] = [...((made[name] as unknown[] | undefined) ?? []), value];
  else if (!isZero(value)) made[name] = value;
}

function scalar(kind: ProtobufField['kind'], wire: WireField | undefined): unknown {
  switch (kind) {
    case 'text':
      return bytesOf(wire).toString('utf8');
    case 'bytes':
      return bytesOf(wire).toString('base64');
    case 'flag':
      return wire?.value === 1n;
    case 'time':
      return timeOf(bytesOf(wire));
    default:
      return typeof wire?.value === 'bigint' ? Number(BigInt.asIntN(64, wire.value)) : 0;
  }
}

function timeOf(bytes: Buffer): string {
  const seconds = readFields(bytes).find((field) => field.number === 1)?.value;
  return typeof seconds === 'bigint' && seconds > 0n
    ? new Date(Number(seconds) * 1000).toISOString().replace('.000Z', 'Z')
    : '';
}

const isZero = (value: unknown): boolean => value === '' || value === 0 || value === false;
