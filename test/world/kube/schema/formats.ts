import { isIP, isIPv4, isIPv6 } from 'node:net';

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339, as accepted by Go's `time.RFC3339`. */
export const isRfc3339 = (text: string): boolean => rfc3339.test(text) && !Number.isNaN(Date.parse(text));

/** Go's `2006-01-02T15:04:05.000000Z07:00`: exactly six fraction digits. */
export const isRfc3339Micro = (text: string): boolean => /\.\d{6}([Z]|[+-]\d\d:\d\d)$/.test(text) && isRfc3339(text);

const durationPart = /^[+-]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/;
/** Go's `time.ParseDuration`. */
export const isGoDuration = (text: string): boolean => text === '0' || durationPart.test(text);

export const isCidrFormat = (text: string): boolean => {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const family = isIP(address);
  return rest.length === 0 && family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128);
};

export const isBase64Format = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

const isUri = (text: string): boolean => {
  try {
    return new URL(text).protocol !== '';
  } catch {
    return text.startsWith('/');
  }
};

const hostname = /^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*\.?$/;
const uuid = /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/;

/** The values of each format of the API server. Other formats are not checked. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': isRfc3339,
  datetime: isRfc3339,
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  'micro-time': isRfc3339Micro,
  duration: isGoDuration,
  byte: isBase64Format,
  uri: isUri,
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text) => text.length <= 255 && hostname.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCidrFormat,
  mac: (text) => /^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/.test(text),
  uuid: (text) => uuid.test(text),
  uuid4: (text) => uuid.test(text),
  hexcolor: (text) => /^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text),
  'k8s-short-name': (text) => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text),
  'k8s-long-name': (text) =>
    text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text),
};

export const matchesFormat = (format: string, text: string): boolean => formats[format]?.(text) ?? true;

/** Formats that cause no warning in a definition. */
export const knownFormats: ReadonlySet<string> = new Set([
  ...Object.keys(formats),
  ...'int32 int64 float double bsonobjectid uuid3 uuid5 isbn isbn10 isbn13 creditcard ssn rgbcolor password'.split(' '),
]);
