"""Mail, handles, plates, addresses of pages and of houses in the forms that people write; all invented."""

from data.pii import find_many

from .examples import marked_spans

MAIL = [
    "메일은 ⟦EMAIL:abc@@naver.com⟧ 입니다",
    "메일은 ⟦EMAIL:abc 앳 지메일 점 컴⟧ 이에요",
    "⟦EMAIL:abc.골뱅이.naver.com⟧ 으로",
    "메일 ⟦EMAIL:abc『at』gmail.com⟧",
    "메일 ⟦EMAIL:abc【골뱅이】gmail.com⟧",
    "⟦EMAIL:minsu(at)fastmail.fm⟧ 으로 제안 주세요",
    "메일은 ⟦EMAIL:studio.haru [at] haru.design⟧ 입니다",
    "메일 주소 ⟦EMAIL:kyj.1988(골뱅이)posteo.de⟧",
    "문의 → ⟦EMAIL:bora AT studio-bora DOT xyz⟧",
    "⟦EMAIL:hello{at}haru{dot}app⟧ 로 보내주세요",
    "⟦EMAIL:theo.lee 골뱅이 skku.museum⟧ 로. 다음 문장",
    "메일 ⟦EMAIL:hong(at)naver.com⟧. Please write",
    "연락 ⟦EMAIL:kwon골뱅이아웃룩닷컴⟧",
    "⟦EMAIL:hong 골뱅이 새봄 닷컴⟧ 으로",
    "(메일) ⟦EMAIL:sora[a]hanmail.net⟧",
    "이메일\n⟦EMAIL:contact(a)naru.design⟧",
    "메일 ⟦EMAIL:noh(dot)ara(at)seoul(dot)ac(dot)kr⟧",
    "메일 ⟦EMAIL:noh[.]ara[@]example[.]org⟧ 로",
]
HANDLES = [
    "IG ⟦MENTION:@soban.jip.co⟧ / 스레드 ⟦MENTION:@soban.jip⟧",
    "틱톡 ⟦MENTION:@nabi.zip⟧에서 봤어요",
    "인스타 ID | 팔로워\n⟦MENTION:@bada_n_san⟧ | 9,021\n⟦MENTION:@mulgyeol.kr⟧ | 7,310",
    "⟦MENTION:@바다소년_⟧ 님이 회원님을 언급했습니다",
    "인스타 ⟦MENTION:@달_토끼22⟧ 팔로우",
    "⟦MENTION:@토끼22⟧님 감사해요",
    "인스타 ⟦MENTION:@mare.atelier.kr⟧ 디엠 주세요",
    "instagram: ⟦MENTION:@haru.coffee.com⟧",
    "IG ⟦MENTION:@nail.by.sua.net⟧",
    "트위터 ⟦MENTION:@moss.garden.org⟧",
    "⟦MENTION:@on.table.co.kr⟧ 팔로우",
]
"""Also where they end like a domain, beside their service."""
PLATES = [
    "이름/전화/차량\n가나다/⟦TEL:010-2999-6385⟧/⟦VEHICLE_PLATE:130소3867⟧",
    "오토바이번호 ⟦VEHICLE_PLATE:대구 북 나 3431⟧",
    "이륜차 ⟦VEHICLE_PLATE:부산 중 가 1204⟧ 신고",
    "차량 제⟦VEHICLE_PLATE:34나 5678⟧ 신고",
    "투싼 NX4 (⟦VEHICLE_PLATE:19저 4455⟧)\n\n담당 한지원 과장",
    "출입기록 13:02 ⟦VEHICLE_PLATE:67수 3019⟧ 입차",
    "차량번호\n⟦VEHICLE_PLATE:55도 1029⟧\n⟦VEHICLE_PLATE:21조 4418⟧\n⟦VEHICLE_PLATE:60주 9120⟧",
    "이름\t연락처\t차량번호\n가\t없음\t⟦VEHICLE_PLATE:15도 2280⟧\n나\t없음\t⟦VEHICLE_PLATE:38조 1192⟧",
    "성명, 동, 차량번호\n박, 101, ⟦VEHICLE_PLATE:62보 4419⟧\n최, 103, ⟦VEHICLE_PLATE:19주 8820⟧",
]
"""In tables, and with letters that are units."""
PAGES = [
    "홈페이지(모바일): ⟦URL:m.haru-farm.market⟧ , 끝",
    '{"site":"⟦URL:https:\\/\\/api.example.org\\/v2\\/items⟧","tls":true}',
    "주소 (예: ⟦URL:https:\\/\\/fs1.example.com⟧)을 입력",
    "주소: ⟦URL:telegra.ph/page-0401⟧ 열지 마세요",
    "피싱 주소 ⟦URL:my-bank[.]help⟧ 차단 요청",
    "홈페이지: ⟦URL:abc-shop.net⟧ 에서",
    "홈페이지 ⟦URL:abcshop.shop⟧에서 주문하세요",
    "사이트 | ⟦URL:my.abc.studio⟧ | 대표",
    "website: ⟦URL:abc.co⟧",
    "⟦URL:abc.github.io⟧ 에 정리했다",
    "⟦URL:abc.imweb.me⟧, ⟦URL:abc.modoo.at⟧, ⟦URL:abc-app.vercel.app⟧ 에서",
    "⟦URL:notion.so/abc-def123⟧ 참고",
    "웹사이트 | ⟦URL:www.무지개떡집.kr⟧",
    "⟦URL:www.새봄.com/안내⟧ 에서",
    "단축주소 ⟦URL:me2.do/xA7bQ3tR⟧",
    "링크 ⟦URL:kko.to/aB3dE5⟧ 또는 ⟦URL:vo.la/x8Kq2⟧",
    "⟦URL:is.gd/aBc123⟧, ⟦URL:example.ac/list⟧",
    "출처 ⟦URL:https://ko.example.org/wiki/서울_(동음이의)⟧ 참고",
    "문서 ⟦URL:https://wiki.example.kr/w/김가나(배우)/음반⟧를 보면",
    "⟦URL:https://shop.example.kr/상품/겨울코트[특가]/view⟧ 에서",
    "참고: ⟦URL:https://a.example.kr/b?c=(가나)⟧.",
    "⟦URL:https://a.example.kr/list(목록)/view?id=3⟧ 로",
    "⟦URL:https://ko.example.org/wiki/대한민국⟧에서 확인",
    "블로그 ⟦URL:https://blog.example.kr/카테고리/여행⟧도 봐주세요",
    "⟦URL:http://board.example.kr/공지사항/2026학년도⟧까지",
    "⟦URL:https://a.example.kr/wiki/이가나_(장군)#생애⟧의 생애",
    "⟦URL:http://a.example.kr/제주도⟧ 여행, ⟦URL:https://a.example.kr/문의⟧ 하세요",
    "⟦URL:http://a.example.kr/page⟧(새창)에서 ⟦URL:http://a.example.kr/book/⟧(영문)에서",
    "⟦URL:https://a.example.kr/⟧을(를) 참조, ⟦URL:https://b.example.kr/c/⟧(으)로 이동",
]
"""With Hangul: they end where they end."""
HOUSES = [
    "하람,⟦ADDRESS:충남 공주시 유구읍 석남리 41-7⟧,32502",
    "보배,⟦ADDRESS:울산 중구 병영로 26길 9⟧,44441",
    "매장은 ⟦ADDRESS:전북 전주시 완산구 가나로 284, 1층⟧입니다. 네비에는 아직 안 나와요!",
    "⟦ADDRESS:서울 중구 가나로 12 3층⟧으로 오세요",
    "⟦ADDRESS:서울 중구 가나로 12, 101동⟧에서 기다려요",
    "⟦ADDRESS:서울 강서구 가나대로 247, 9917호⟧ (강아지 짖을 수 있음)",
    "⟦ADDRESS:부산 사하구 가나대로 550번길 37⟧ (벨 누르지 마세요)",
    "주소지: ⟦ADDRESS:충남 아산시 가나읍 다라리 1782-1⟧ (전입신고 예정)",
    "집주소: ⟦ADDRESS:전북 군산시 가나로 12⟧ (아들집)",
    "⟦ADDRESS:서울특별시 양천구 가나로 233(목동)⟧ 에서",
    "⟦ADDRESS:인천 남동구 가나로 149 (다라동, 마바빌딩)⟧에서",
    "주소: ⟦ADDRESS:광주광역시 서구 가나동 다라대로 88⟧",
    "⟦ADDRESS:충청남도 천안시 서북구 가나읍 4공단로 88-3⟧ 일원",
    "⟦ADDRESS:청주시 흥덕구 가나면 산47-3⟧ 일원",
]
"""Without a remark in brackets."""
LOGS = [
    "서버명,내부IP,외부IP\nweb1,⟦IP:10.4.0.31⟧,⟦IP:15.164.27.3⟧\nweb2,⟦IP:10.4.0.32⟧,⟦IP:15.164.27.4⟧",
    "ip route add ⟦IP:10.40.0.0⟧/16 via ⟦IP:10.2.0.254⟧ dev eth1",
    "remote_addr=⟦IP:52.23.34.48⟧",
    "inet ⟦IP:52.22.39.44⟧ netmask 255.255.255.0",
    "⟦IP:55.25.32.46⟧ 에서 로그인",
    "물리주소 ⟦MAC:AABB-CCDD-EE04⟧",
    "하드웨어 주소: ⟦MAC:aa bb cc dd ee 04⟧",
    "물리적 주소: ⟦MAC:aabbccddee04⟧",
    "Failed password for root from ⟦IP:91.15.35.28⟧ port 55840 ssh2",
    "rhost=⟦IP:91.15.35.28⟧ user=root",
    "SRC=⟦IP:91.15.35.28⟧ DST=⟦IP:12.34.56.78⟧ LEN=40",
    "[client ⟦IP:91.15.35.28⟧] denied",
    "MAC Address : ⟦MAC:E4.5F.01.95.9C.74⟧",
    "mac_addr=⟦MAC:e45f01959c74⟧",
    "mac address ⟦MAC:e4 5f 01 95 9c 74⟧",
]
MASKED = [
    "피해자 인적사항: 구가나(여, 29세), ⟦RRN:950404-2******⟧, ⟦TEL:010-7788-1704⟧",
    "주민등록번호 앞 6자리와 뒤 1자리를 적습니다: ⟦RRN:980418-2******⟧",
    "피보험자: 염도하(⟦RRN:980418-2******⟧)",
    "대표이사 김가나 (⟦RRN:610228-1******⟧)",
    "성명 LE VAN ⟦FRN:980418-5******⟧",
]
"""Beside a person."""
WHOEVERS = [
    "고객센터 ⟦TEL:1588-1255⟧, 공단 ⟦TEL:1577-1000⟧, 거부 ⟦TEL:080-863-4410⟧",
    "공유기 ⟦IP:192.168.0.1⟧, 게이트웨이 ⟦IP:10.0.0.1⟧",
    "DNS 서버는 ⟦IP:8.8.8.8⟧ 이나 ⟦IP:198.51.100.24⟧",
    "⟦EMAIL:test@example.com⟧ 과 ⟦URL:https://www.example.com/path⟧",
    "범위 ⟦IP:10.0.0.100⟧ ~ ⟦IP:10.0.0.200⟧",
    "범위 ⟦IP:192.168.0.10⟧-⟦IP:192.168.0.50⟧, IP ⟦IP:192.168.0.1⟧-50",
    "대역 ⟦IP:10.0.0.0⟧/8",
    "전화 ⟦TEL:1577-8000⟧~⟦TEL:3⟧",
]
"""The form decides, not whose the value is."""
NOBODYS = [
    "upgraded from 16.0.4.12 to 16.1.0.3",
    "main.do/view, list.so/1, 계좌 980418-2******",
    "119와 112, 국번 없이 1339",
    "127.0.0.1, 0.0.0.0, 마스크 255.255.255.0, http://localhost:8080/",
    "MAC 00:00:00:00:00:00, 방송 ff:ff:ff:ff:ff:ff",
    "결제 5409-26**-****-118*, 전화 010-****-4471",
    "패키지 10.2.30.140-5.el7, 1588-1592~95년",
    "제34조 5678호, 예산 12조 8830억원, 온도 44도 2019년",
    "사이트에 쓴 socket.io 와 asp.net, 홈페이지: main.js, 사이트 node.js",
    "mac 은 모르고 mac 12 13 14 15 16 이다",
    "@바다_ 변수와 @제목2 항목",
    "look at the dot product, look_at_me_dot_product",
    "인스타 감성 카페 @성수동",
    "조항(900101-1******)은 가려져 있다",
    "법인등록번호 110111-4829013, 주식회사 가나 110111-2365917",
]


FORMS = [*MAIL, *HANDLES, *PLATES, *PAGES, *HOUSES, *LOGS, *MASKED, *WHOEVERS]


def test_the_values_of_a_text_are_found_and_nothing_else() -> None:
    texts, spans = zip(*map(marked_spans, FORMS), strict=True)
    found = [[tuple(span) for span in one] for one in find_many([*texts])]
    assert [one for one in zip(texts, spans, found, strict=True) if one[1] != one[2]] == []


def test_what_reaches_nobody_stays() -> None:
    assert [text for text, spans in zip(NOBODYS, find_many(NOBODYS), strict=True) if spans] == []
