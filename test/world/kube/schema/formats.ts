const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

/** RFC 3339, as accepted by Go's `time.RFC3339`. */
export const isRfc3339 = (text: string): boolean => rfc3339.test(text) && !Number.isNaN(Date.parse(text));

/** Go's `2006-01-02T15:04:05.000000Z07:00`: exactly six fraction digits. */
export const isRfc3339Micro = (text: string): boolean => /\.\d{6}([Z]|[+-]\d\d:\d\d)$/.test(text) && isRfc3339(text);

export const isBase64Format = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

/** The formats of definitions here. Others are not checked. */
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': isRfc3339,
  byte: isBase64Format,
};

export const matchesFormat = (format: string, text: string): boolean => formats[format]?.(text) ?? true;

/** Formats that cause no warning in a definition. */
export const knownFormats: ReadonlySet<string> = new Set([
  ...Object.keys(formats),
  ...'date duration uri email hostname ipv4 ipv6 cidr mac uuid int32 int64 float double password'.split(' '),
]);
